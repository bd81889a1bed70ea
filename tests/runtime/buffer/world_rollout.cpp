#include "world.hpp"

#include "runtime/buffer/seeded.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

double world::draw_score(const job& from, uint32_t index) {
  auto& what = from.what;
  // Teaching and RFT must yield something to train.
  if ((what.stage == stage_kind::teach || what.stage == stage_kind::rft)
      && index == 0)
    return 1.2;
  bool hopeless = uniform(mix({how_.seed, what.work.id})) < 0.25;
  constexpr double scores[] = {-1, -0.3, 1, 1.2};
  return hopeless ? -1 : scores[below(4)];
}

void world::finish_sample() {
  auto& who = workers_[below(workers_.size())];
  std::erase_if(who.jobs, [](auto& one) { return one.missing.empty(); });
  if (who.jobs.empty())
    return;
  auto& one = who.jobs[below(who.jobs.size())];
  auto at = one.missing.begin();
  std::advance(at, below(one.missing.size()));
  auto& what = one.what;
  auto version = what.version;
  if (what.rule == weights_rule::at_least && published_ > version)
    version += below(published_ - version + 1);
  auto made = sample(what.work.id, *at, draw_score(one, *at), version);
  if (what.rule == weights_rule::at_least && published_ > version)
    // New weights came in flight.
    made.turns[0].versions = {{version, 1}, {published_, 1}};
  bool infra = chance(0.05) && !(what.stage == stage_kind::teach);
  if (infra)
    made.turns[0].outcome.kind = chance(0.1) ? category::task_invalid
                                             : category::infra_worker;
  sent_[{made.item, made.index}].insert({made.ret, version});
  mails_.push_back({who.who, what.lease, made, {made.ret, version}});
}

void world::ask_for_work() {
  auto& who = workers_[below(workers_.size())];
  sync_request ask{who.who, {}, static_cast<uint32_t>(below(5)), published_};
  for (auto& one : who.jobs)
    ask.held.push_back(one.what.lease);
  sync_reply reply;
  bool delivered = deliver([&] { reply = core_->sync(ask, now_); });
  if (delivered)
    for (auto& one : reply.grants)
      check_grant(one);
  if (!delivered || chance(0.05))
    return; // The reply is lost: what it granted is not held.
  for (auto id : reply.cancelled)
    std::erase_if(who.jobs, [&](auto& x) { return x.what.lease == id; });
  for (auto& one : reply.grants)
    who.jobs.push_back({one, {one.missing.begin(), one.missing.end()}});
}

void world::receive_sample() {
  if (mails_.empty())
    return;
  auto at = below(mails_.size());
  auto letter = mails_[at];
  if (!chance(0.1)) // Else it arrives once more, later.
    mails_.erase(mails_.begin() + static_cast<int64_t>(at));
  if (chance(0.05))
    return;
  key where{letter.what.item, letter.what.index};
  submit_status status{};
  bool before = samples_.contains(where);
  if (!deliver([&] {
        status = core_->submit(letter.from, letter.lease, letter.what, now_);
      }))
    return;
  if (status == submit_status::accepted) {
    require(!before, "a sample was accepted twice");
    stored_[where] = letter.mark;
  }
  require(status != submit_status::duplicate || before || !memory_,
          "a sample was called a duplicate of nothing");
  counts_.duplicates += status == submit_status::duplicate ? 1 : 0;
  counts_.superseded += status == submit_status::superseded ? 1 : 0;
  if (status == submit_status::journal_full || chance(0.05))
    return;
  for (auto& who : workers_)
    for (auto& one : who.jobs)
      if (one.what.lease == letter.lease)
        one.missing.erase(letter.what.index);
}

void world::lose_worker() {
  auto& who = workers_[below(workers_.size())];
  auto dead = who.who;
  who.jobs.clear();
  who.who.incarnation = ++incarnation_;
  // Or nobody notices before the lease ends, or the new process asks.
  if (chance(0.5))
    deliver([&] { core_->owner_down(dead.node, dead.incarnation); });
}

void world::check_grant(const grant& what) {
  require(!what.missing.empty(), "a grant asks for nothing");
  auto& row = items_.at(what.work.id);
  require(row.status == item_status::open, "a closed item was granted");
  require(row.what.attempts <= config_.buffer.max_attempts,
          "an item was granted too often");
  for (auto index : what.missing)
    require(!samples_.contains({what.work.id, index}),
            "a grant asks for a sample that is stored");
  counts_.regrants += ++grants_[what.work.id] > 1 ? 1 : 0;
  uint64_t committed = 0;
  for (auto& [step, one] : batches_)
    committed += one.committed ? 1 : 0;
  require(what.rule == weights_rule::none || what.version == committed,
          "a grant asks for another version than the newest committed");
  require((what.work.kind == item_kind::repair)
            == !what.work.failed_response.empty(),
          "a repair has the failed response, others have none");
}

} // namespace swage::test
