#include "world.hpp"

#include "runtime/buffer/hash_chain.hpp"
#include "runtime/buffer/seeded.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

void world::move_learner() {
  if (!student_)
    return attach_learner();
  switch (student_->where) {
  case phase::ask:
    return ask_for_batch();
  case phase::train:
    return train_batch();
  case phase::publish:
    // A redo publishes nothing before the newest recorded batch.
    if (student_->step >= student_->last_at_attach)
      published_ = std::max(published_, student_->step);
    student_->where = phase::commit;
    return;
  case phase::commit:
    return commit_batch();
  case phase::save:
    return save_checkpoint();
  }
}

void world::attach_learner() {
  student next;
  next.who = {"learner", ++incarnation_, 0};
  result<attach_reply> reply;
  if (!deliver([&] { reply = core_->attach(next.who, now_); }) || !reply
      || chance(0.1))
    return;
  // The newest checkpoint may not be valid.
  auto&
    from = disk_[disk_.size() - 1 - (disk_.size() > 1 && chance(0.2) ? 1 : 0)];
  require(reply->epoch > 0 && reply->hashes.size() == reply->last_batch,
          "attach tells one hash a batch");
  require(from.step <= reply->last_batch, "a checkpoint is ahead");
  require(from.step == 0 || reply->hashes[from.step - 1] == from.hash,
          "a checkpoint's hash is not the journal's");
  next.epoch = reply->epoch;
  next.step = from.step;
  next.hash = from.hash;
  next.trained = from.trained;
  next.last_at_attach = reply->last_batch;
  student_ = std::move(next);
}

void world::ask_for_batch() {
  next_reply reply;
  auto& me = *student_;
  if (!deliver([&] { reply = core_->next_batch(me.epoch, me.step, now_); }))
    return;
  if (reply.status == next_status::fenced) {
    require(false, "the only learner was fenced");
  }
  if (reply.status != next_status::ready)
    return;
  check_batch(reply.what);
  if (chance(0.1))
    return;
  me.at_hand = reply.what;
  me.where = phase::train;
}

void world::train_batch() {
  auto& me = *student_;
  auto& what = me.at_hand;
  if (!what.voided && what.step == deadly_)
    return lose_learner();
  if (what.kind == stage_kind::rl_single || what.kind == stage_kind::rl_multi) {
    std::vector<judgement> all;
    for (size_t i = 0; i < what.members.size(); ++i) {
      auto& one = what.members[i];
      if (what.recorded.empty())
        // A mirror that repeats itself says the same; another one need not.
        all.push_back({what.step, one.item, one.index, 0.1, 0, 0, 0,
                       mix({me.epoch, one.item, one.index}) % 2 == 0});
    }
    result<void> ok;
    if (!deliver([&] { ok = core_->judged(me.epoch, all, {what.step}, 1e9); }) || !ok)
      return; // The learner may not train what was not judged durably.
    for (auto& one : all)
      kept_.try_emplace({one.step, {one.item, one.index}}, one.kept);
    counts_.judged_again += what.recorded.empty() ? 0 : 1;
  }
  trained_batch done{what.step, what.voided, {}};
  for (auto& one : what.members) {
    done.members.push_back({one.item, one.index});
    require(core_->fetch(one.item, one.index).has_value(),
            "a member's payload is gone");
  }
  me.trained.push_back(std::move(done));
  me.step = what.step;
  me.hash = what.hash;
  me.where = phase::publish;
}

void world::commit_batch() {
  auto& me = *student_;
  step_report report;
  report.step = me.step;
  report.kind = me.at_hand.kind;
  result<void> ok;
  if (!deliver([&] { ok = core_->commit(me.epoch, report, now_); }) || !ok)
    return;
  acknowledged_.insert(me.step);
  if (chance(0.1))
    return; // Repeated.
  me.where = phase::save;
}

void world::save_checkpoint() {
  auto& me = *student_;
  me.where = phase::ask;
  if (me.step % 3 != 0 || me.step <= disk_.back().step)
    return;
  disk_.push_back({me.step, me.hash, me.trained});
  result<void> ok;
  deliver([&] { ok = core_->checkpointed(me.epoch, me.step, me.hash); });
}

void world::zombie_speaks() {
  if (zombies_.empty())
    return;
  auto& one = zombies_[below(zombies_.size())];
  next_reply reply;
  result<void> committed, judged;
  step_report report;
  report.step = one.step + 1;
  bool current = false;
  if (!deliver([&] {
        current = core_->progress(now_).epoch == one.epoch;
        if (current)
          return;
        reply = core_->next_batch(one.epoch, one.step, now_);
        committed = core_->commit(one.epoch, report, now_);
        judged = core_->judged(one.epoch, {}, {}, 0);
      })
      || current || (memory_ && memory_->full))
    return;
  if (!core_->progress(now_).journal_ok)
    return;
  require(reply.status == next_status::fenced && !committed && !judged
            && committed.error().code == ec::fenced,
          "an old epoch was not fenced");
  ++counts_.fenced;
}

void world::retrain_everything() {
  zombies_.clear();
  student_.reset();
  while (disk_.size() > 2)
    disk_.erase(disk_.begin());
  // The older of the two newest checkpoints, as if the newest were damaged.
  auto from = disk_.front();
  disk_ = {from};
  deadly_ = 0;
  for (int i = 0; !student_ && i < 1000; ++i)
    attach_learner();
  require(student_.has_value(), "no learner could attach at the end");
  auto& me = *student_;
  for (int i = 0; me.step < batches_.size(); ++i) {
    require(i < 10000, "the redo at the end does not end");
    if (me.where == phase::ask)
      ask_for_batch();
    else if (me.where == phase::train)
      train_batch();
    else
      me.where = phase::ask;
    if (!student_ || core_->progress(now_).epoch != me.epoch)
      throw violation("the redo lost its learner");
  }
  for (auto& one : me.trained)
    require(recorded_.at(one.step) == one.members || one.voided,
            "the redo trained something else");
}

void world::lose_learner() {
  if (!student_)
    return;
  if (chance(0.3))
    zombies_.push_back(*student_);
  student_.reset();
}

void world::check_batch(const batch& what) {
  auto& me = *student_;
  require(what.step == me.step + 1, "batches come in order");
  std::vector<key> members;
  for (auto& one : what.members)
    members.push_back({one.item, one.index});
  require(std::is_sorted(members.begin(), members.end()), "members are sorted");
  auto hash = what.voided ? chain_void(me.hash, what.step)
                          : chain_next(me.hash, what.step, what.members);
  require(hash == what.hash, "the chain does not follow from the learner's");
  auto [known, first] = recorded_.try_emplace(what.step, members);
  if (what.voided)
    require(members.empty(), "a void batch trains something");
  else
    require(known->second == members, "a batch was delivered differently");
  require(what.redo == batches_.at(what.step).committed
            || acknowledged_.contains(what.step) == what.redo,
          "redo means committed before");
  counts_.redone += first ? 0 : 1;
  require(what.recorded.empty() || what.recorded.size() == members.size(),
          "recorded judgements are all or none");
  for (auto& one : what.recorded) {
    auto found = kept_.find({what.step, {one.item, one.index}});
    require(found == kept_.end() || found->second == one.kept,
            "a recorded mask changed");
  }
  if (first && !what.voided)
    for (auto& one : what.members)
      if (one.kind == item_kind::example)
        require(items_.at(one.item).status == item_status::collected
                  && (!memory_ || samples_.at({one.item, one.index}).success),
                "an example is not a collected success");
}

} // namespace swage::test
