#include "actors/node.hpp"

#include "runtime/config/config_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swage {

namespace {

constexpr double retry_s = 1;
constexpr double leave_timeout_s = 2;

} // namespace

node_state::node_state(interface::pointer self, node_parts parts)
  : self_(self), mail_(self), parts_(std::move(parts)) {
  lost_since_ = clock_s(self_);
}

node_actor::behavior_type node_state::make_behavior() {
  watch_local();
  // The coordinator needs the buffer before anyone joins.
  rewire();
  find_head();
  return {
    [this](handles_atom) { return handles(); },
    [this](wire_atom, const cluster_map& map) {
      if (map.generation > map_.generation)
        apply(map);
    },
    [this](drain_atom, double deadline_s) {
      alone_ = true;
      begin_drain(deadline_s);
    },
  };
}

void node_state::find_head() {
  if (leaving_)
    return;
  if (is_head()) {
    head_ = parts_.here.coordinator;
    return join();
  }
  auto failed = [this](const error& reason) {
    // The two will never come together as they are.
    if (reason.code == ec::invalid_config)
      return give_up(2, fmt::format("cannot join the head at {}: {}",
                                    parts_.head_address, reason.message));
    lost_head(reason.message);
  };
  parts_.connect(
    mail_, parts_.head_address,
    [this, failed](node_actor there) {
      mail_.ask(
        there, timeout(),
        [this, there](node_handles& found) {
          if (!found.coordinator)
            return lost_head("there is a node, but it is not the head");
          head_ = found.coordinator;
          mail_.watch(there, [this, head = head_](const error&) {
            if (head_ == head)
              lost_head("its connection was lost");
          });
          join();
        },
        failed, handles_atom_v);
    },
    failed);
}

void node_state::lost_head(const std::string& why) {
  head_ = nullptr;
  ++beats_;
  if (leaving_)
    return;
  const auto now = clock_s(self_);
  const auto limit = parts_.settings.faults.stall_timeout_s;
  if (std::exchange(joined_, false)) {
    lost_since_ = now;
    no_head_ = why;
    waiting_.reset();
    say(log_level::warning,
        fmt::format("the head at {} is gone: {}; trying to reach it again",
                    parts_.head_address, why));
  }
  auto news = std::exchange(no_head_, why) != why;
  if (waiting_.due(now))
    say(log_level::notice,
        fmt::format("the head at {} cannot be reached: {}; trying on for "
                    "another {:.0f} s (faults.stall_timeout_s)",
                    parts_.head_address, why,
                    std::max(0.0, limit - (now - lost_since_))));
  else if (news)
    say(log_level::info, fmt::format("the head at {} cannot be reached yet: {}",
                                     parts_.head_address, why));
  if (now - lost_since_ > limit)
    return give_up(
      stalled_exit,
      fmt::format("the head at {} could not be reached for {:.0f} s: {}",
                  parts_.head_address, limit, why));
  if (alone_ && undrained_ == 0)
    return leave();
  after(self_, retry_s, [this] { find_head(); });
}

void node_state::join() {
  if (leaving_)
    return;
  mail_.ask(
    head_, timeout(), [this](join_reply& reply) { on_joined(reply); },
    [this](const error& reason) { lost_head(reason.message); }, join_atom_v,
    parts_.me, config_text(parts_.settings));
}

void node_state::on_joined(join_reply& reply) {
  if (reply.ending)
    return leave();
  if (!reply.admitted)
    return give_up(2, "the head refused this node: " + reply.reason);
  joined_ = true;
  no_head_.clear();
  waiting_.reset();
  if (!is_head())
    say(log_level::notice,
        fmt::format("joined the run at {}", parts_.head_address));
  apply(reply.where);
  ++beats_;
  beat();
}

void node_state::beat() {
  check_learner();
  if (leaving_)
    return;
  auto series = beats_;
  // Who is not answered for so long is taken for dead by then.
  mail_.ask(
    head_, parts_.settings.faults.detection_s,
    [this, series](beat_reply& reply) {
      if (series != beats_)
        return;
      on_beat(reply);
      after(self_, parts_.settings.faults.beat_interval_s, [this, series] {
        if (series == beats_ && !leaving_)
          beat();
      });
    },
    [this, series](const error& reason) {
      if (series == beats_)
        lost_head(reason.message);
    },
    beat_atom_v, report());
}

void node_state::on_beat(beat_reply& reply) {
  if (!reply.evicted.empty())
    return give_up(3, reply.evicted);
  if (reply.draining)
    begin_drain(parts_.settings.faults.drain_timeout_s);
  if (reply.leave)
    return leave();
  if (!reply.known) {
    say(log_level::info,
        "the head does not know this node any more; joining again");
    ++beats_;
    return join();
  }
  if (reply.where.generation != map_.generation)
    apply(reply.where);
}

beat_report node_state::report() const {
  beat_report out;
  out.who = parts_.me.who;
  out.generation = map_.generation;
  out.finished = parts_.learner->finished();
  out.drained = draining_ && undrained_ == 0;
  for (auto& one : parts_.progress->all())
    out.actors.push_back({one->kind, one->actor, one->count,
                          static_cast<double>(one->busy_ns) * 1e-9,
                          one->working});
  return out;
}

void node_state::begin_drain(double deadline_s) {
  if (std::exchange(draining_, true))
    return;
  undrained_ = 1; // This function's own.
  auto done = [this] { part_drained(); };
  auto failed = [this](const error&) { part_drained(); };
  const auto patience = deadline_s + leave_timeout_s;
  for (auto& one : parts_.here.rollouts) {
    ++undrained_;
    mail_.ask(one, patience, done, failed, drain_atom_v, deadline_s);
  }
  if (parts_.here.learner) {
    ++undrained_;
    mail_.ask(
      parts_.here.learner, patience,
      [this](uint64_t step) {
        say(log_level::info,
            fmt::format("the learner stopped at step {}", step));
        part_drained();
      },
      failed, stop_atom_v, deadline_s);
  }
  part_drained();
}

void node_state::part_drained() {
  if (--undrained_ == 0 && alone_)
    leave();
}

void node_state::leave() {
  if (std::exchange(leaving_, true))
    return;
  post(self_, parts_.here.pool, drain_atom_v, 0.0);
  auto end = [this] { parts_.outcome->finish(); };
  if (is_head() || !head_)
    return end();
  mail_.ask(
    head_, leave_timeout_s, end, [end](const error&) { end(); }, leave_atom_v,
    parts_.me.who, std::string{"done"});
}

void node_state::give_up(int code, const std::string& reason) {
  leaving_ = true; // Nothing more is asked or answered for.
  ++beats_;
  parts_.outcome->fail(code, reason);
}

void node_state::check_learner() {
  auto failure = parts_.learner->failure();
  if (!failure || leaving_)
    return;
  fault_report fault{parts_.me.who, "learner", *failure, true};
  post(self_, head_, fault_atom_v, std::move(fault));
  give_up(3, "the learner failed: " + *failure);
}

void node_state::watch_local() {
  auto& here = parts_.here;
  watch_local(here.coordinator, "the coordinator");
  watch_local(here.buffer, "the buffer");
  watch_local(here.publisher, "the publisher");
  watch_local(here.pool, "the verifier pool");
  watch_local(here.mirror, "the mirror");
  watch_local(here.learner, "the learner");
  for (size_t i = 0; i < here.ranks.size(); ++i)
    watch_local(here.ranks[i], fmt::format("learner rank {}", i + 1));
  for (size_t i = 0; i < here.rollouts.size(); ++i)
    watch_local(here.rollouts[i], fmt::format("rollout {}", i));
}

template <class Handle>
void node_state::watch_local(const Handle& who, std::string kind) {
  if (!who)
    return;
  mail_.watch(who, [this, kind = std::move(kind)](const error& reason) {
    if (leaving_)
      return;
    auto what = "it ended unexpectedly: " + reason.message;
    post(self_, head_, fault_atom_v,
         fault_report{parts_.me.who, kind, what, true});
    give_up(3, fmt::format("{} ended unexpectedly: {}", kind, reason.message));
  });
}

void node_state::say(log_level level, const std::string& line) const {
  if (parts_.on_line)
    parts_.on_line(level, line);
}

} // namespace swage
