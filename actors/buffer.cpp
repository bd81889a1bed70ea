#include "actors/buffer.hpp"

#include <algorithm>
#include <utility>

namespace swage {

buffer_state::buffer_state(interface::pointer self, buffer_parts parts)
  : self_(self), mail_(self), parts_(std::move(parts)) {
  committed_ = parts_.core->progress(now()).last_committed;
  tick();
}

buffer_actor::behavior_type buffer_state::make_behavior() {
  auto& core = *parts_.core;
  return {
    [this](sync_atom, const sync_request& ask) { return sync(ask); },
    [this](submit_atom, const owner& from, uint64_t lease, trajectory& what) {
      return submit(from, lease, what);
    },
    [this](attach_atom, const owner& learner) { return attach(learner); },
    [this](next_batch_atom, uint64_t epoch, uint64_t after) {
      return next_batch(epoch, after);
    },
    [&core](fetch_atom, uint64_t item,
            uint32_t index) -> caf::result<trajectory> {
      auto found = core.fetch(item, index);
      if (!found)
        return to_caf(found.error());
      return std::move(*found);
    },
    [this, &core](judgement_atom, const judgement_report& all) {
      return reply_later(
        core.judged(all.epoch, all.judgements, all.drift,
                    parts_.wall_clock()));
    },
    [this](commit_atom, uint64_t epoch, const step_report& report) {
      return commit(epoch, report);
    },
    [this, &core](checkpointed_atom, uint64_t epoch, uint64_t step,
                  uint64_t hash) {
      return reply_later(core.checkpointed(epoch, step, hash));
    },
    [this](owner_down_atom, const node_id& who) {
      owner_down(who);
      return reply_later({});
    },
    [this](progress_atom) { return status(); },
    [this, &core](end_stage_atom) {
      core.end_stage(now());
      return reply_later({});
    },
    [this, &core](drain_atom, const std::string& reason) {
      core.drain(reason);
      draining_ = true;
      return reply_later({});
    },
    [this](flush_atom) { flush(); },
  };
}

caf::result<sync_reply> buffer_state::sync(const sync_request& ask) {
  if (auto& peer = self_->current_sender())
    mail_.watch_once(peer, [this, who = ask.from](const error&) {
      owner_down({who.node, who.incarnation});
      later([](const error*) {});
    });
  // An owner waits for one answer: the earlier one gave up.
  auto same = [&](auto& x) { return x.ask.from == ask.from; };
  for (auto& old : syncs_)
    if (same(old))
      old.to.deliver(sync_reply{});
  syncs_.remove_if(same);
  auto to = self_->make_response_promise<sync_reply>();
  sync(ask, to, true);
  return to;
}

void buffer_state::sync(const sync_request& ask, promise<sync_reply> to,
                        bool may_hold) {
  auto reply = parts_.core->sync(ask, now());
  auto nothing = reply.grants.empty() && reply.cancelled.empty()
                 && !reply.draining && ask.want > 0;
  if (may_hold && nothing && !parts_.core->could_grant())
    return hold(ask, std::move(to));
  later([reply = std::move(reply), to](const error* failed) mutable {
    if (failed)
      reply.grants.clear();
    to.deliver(std::move(reply));
  });
}

void buffer_state::owner_down(const node_id& who) {
  parts_.core->owner_down(who.name, who.incarnation);
  // What it still asks for would be granted to nobody.
  for (auto i = syncs_.begin(); i != syncs_.end();) {
    if (i->ask.from.node == who.name
        && i->ask.from.incarnation <= who.incarnation) {
      i->to.deliver(sync_reply{});
      i = syncs_.erase(i);
    } else {
      ++i;
    }
  }
}

void buffer_state::hold(const sync_request& ask, promise<sync_reply> to) {
  auto id = ++last_held_;
  syncs_.push_back({id, ask, committed_, std::move(to)});
  after(self_, parts_.poll_hold_s, [this, id] { release_sync(id); });
  later([](const error*) {});
}

caf::result<submit_status> buffer_state::submit(const owner& from,
                                                uint64_t lease,
                                                trajectory& what) {
  what.hops.stored = parts_.wall_clock();
  auto status = parts_.core->submit(from, lease, what, now());
  auto to = self_->make_response_promise<submit_status>();
  later([status, to](const error* failed) mutable {
    to.deliver(failed ? submit_status::journal_full : status);
  });
  return to;
}

caf::result<attach_reply> buffer_state::attach(const owner& learner) {
  auto outcome = parts_.core->attach(learner, now());
  auto to = self_->make_response_promise<attach_reply>();
  later([outcome = std::move(outcome), to](const error* failed) mutable {
    if (!outcome)
      to.deliver(to_caf(outcome.error()));
    else if (failed)
      to.deliver(to_caf(*failed));
    else
      to.deliver(std::move(*outcome));
  });
  return to;
}

caf::result<next_reply> buffer_state::next_batch(uint64_t epoch,
                                                 uint64_t after) {
  auto to = self_->make_response_promise<next_reply>();
  next_batch(epoch, after, to, true);
  return to;
}

void buffer_state::next_batch(uint64_t epoch, uint64_t after,
                              promise<next_reply> to, bool may_hold) {
  auto reply = parts_.core->next_batch(epoch, after, now());
  auto nothing = reply.status == next_status::nothing
                 || reply.status == next_status::stage_over;
  if (may_hold && nothing && !parts_.core->could_deliver(epoch, after))
    return hold(epoch, after, std::move(to));
  later([reply = std::move(reply), to](const error* failed) mutable {
    if (failed)
      reply = next_reply{};
    to.deliver(std::move(reply));
  });
}

void buffer_state::hold(uint64_t epoch, uint64_t after,
                        promise<next_reply> to) {
  auto id = ++last_held_;
  nexts_.push_back({id, epoch, after, std::move(to)});
  swage::after(self_, parts_.poll_hold_s, [this, id] { release_next(id); });
  later([](const error*) {});
}

caf::result<void> buffer_state::commit(uint64_t epoch,
                                       const step_report& report) {
  auto outcome = parts_.core->commit(epoch, report, now());
  if (outcome)
    committed_ = std::max(committed_, report.step);
  return reply_later(std::move(outcome));
}

caf::result<void> buffer_state::reply_later(result<void> outcome) {
  auto to = self_->make_response_promise<void>();
  later([outcome = std::move(outcome), to](const error* failed) mutable {
    if (!outcome)
      to.deliver(to_caf(outcome.error()));
    else if (failed)
      to.deliver(to_caf(*failed));
    else
      to.deliver();
  });
  return to;
}

buffer_status buffer_state::status() const {
  buffer_status out;
  out.progress = parts_.core->progress(now());
  auto exact = parts_.core->exact_version();
  out.pinned = exact.has_value();
  out.version = exact.value_or(0);
  return out;
}

void buffer_state::later(answer one) {
  answers_.push_back(std::move(one));
  if (!std::exchange(flushing_, true))
    post(self_, buffer_actor{self_}, flush_atom_v);
}

void buffer_state::flush() {
  flushing_ = false;
  auto done = parts_.core->flush();
  auto failed = done ? nullptr : &done.error();
  if (std::exchange(failing_, !done) != failing_ && parts_.on_journal)
    parts_.on_journal(failed);
  for (auto& one : std::exchange(answers_, {}))
    one(failed);
  // Without the journal nothing can be granted; the next tick tries again.
  if (done)
    serve_held();
}

void buffer_state::serve_held() {
  auto& core = *parts_.core;
  if (std::exchange(served_revision_, core.revision()) == core.revision())
    return;
  const auto ending = draining_ || core.over();
  std::vector<uint64_t> ready;
  for (auto& one : syncs_)
    if (ending || core.could_grant() || one.newest != committed_)
      ready.push_back(one.id);
  for (auto id : ready)
    release_sync(id);
  ready.clear();
  for (auto& one : nexts_)
    if (ending || core.could_deliver(one.epoch, one.after))
      ready.push_back(one.id);
  for (auto id : ready)
    release_next(id);
}

void buffer_state::release_sync(uint64_t id) {
  auto i = std::find_if(syncs_.begin(), syncs_.end(),
                        [id](auto& x) { return x.id == id; });
  if (i == syncs_.end())
    return;
  auto one = std::move(*i);
  syncs_.erase(i);
  sync(one.ask, std::move(one.to), false);
}

void buffer_state::release_next(uint64_t id) {
  auto i = std::find_if(nexts_.begin(), nexts_.end(),
                        [id](auto& x) { return x.id == id; });
  if (i == nexts_.end())
    return;
  auto one = std::move(*i);
  nexts_.erase(i);
  next_batch(one.epoch, one.after, std::move(one.to), false);
}

void buffer_state::tick() {
  after(self_, buffer_core::tick_interval_s, [this] {
    parts_.core->tick(now());
    later([](const error*) {});
    tick();
  });
}

double buffer_state::now() const {
  return clock_s(self_);
}

} // namespace swage
