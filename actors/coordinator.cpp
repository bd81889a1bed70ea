#include "actors/coordinator.hpp"

#include <fmt/format.h>

#include <utility>

namespace swage {

namespace {

constexpr double tick_s = 1;
constexpr double remark_share = 0.25; ///< Of the stall time, then it is said.
constexpr double barren_share = 0.25; ///< Of max_rollouts_per_batch, likewise.

bool is_rl(stage_kind kind) {
  return kind == stage_kind::rl_single || kind == stage_kind::rl_multi;
}

} // namespace

coordinator_state::coordinator_state(interface::pointer self,
                                     coordinator_parts parts)
  : self_(self),
    mail_(self),
    parts_(std::move(parts)),
    core_(parts_.limits, parts_.terms) {
  tick();
}

coordinator_actor::behavior_type coordinator_state::make_behavior() {
  return {
    [this](wire_atom, coordinator_wiring& wiring) { wire(std::move(wiring)); },
    [this](join_atom, const node_info& node, const std::string& config) {
      return join(node, config);
    },
    [this](beat_atom, const beat_report& report) { return beat(report); },
    [this](fault_atom, const fault_report& fault) {
      apply(core_.on_fault(fault));
    },
    [this](leave_atom, const node_id& who, const std::string& reason) {
      apply(core_.on_leave(who, reason));
    },
    [this](stop_atom) { stop(); },
  };
}

join_reply coordinator_state::join(const node_info& node,
                                   const std::string& config) {
  auto [reply, effects] = core_.on_join(node, now(), config);
  apply(effects);
  return std::move(reply);
}

beat_reply coordinator_state::beat(const beat_report& report) {
  auto [reply, effects] = core_.on_beat(report, now());
  apply(effects);
  return std::move(reply);
}

void coordinator_state::wire(coordinator_wiring wiring) {
  if (wiring.generation < wiring_.generation)
    return;
  // One that was lost may have dropped our pin, another one never had it.
  if (wiring.weights != wiring_.weights)
    pin_known_ = false;
  if (wiring.weights && wiring.weights != pinned_at_)
    pinned_.reset();
  wiring_ = std::move(wiring);
  look();
}

void coordinator_state::stop(const std::string& why) {
  if (core_.draining())
    return;
  core_.drain(now());
  post(self_, wiring_.buffer, drain_atom_v, why);
}

void coordinator_state::apply(const membership_effects& effects) {
  for (auto& line : effects.lines)
    say(log_level::info, line);
  for (auto& line : effects.notices)
    say(log_level::notice, line);
  for (auto& line : effects.warnings)
    say(log_level::warning, line);
  for (auto& who : effects.down)
    post(self_, wiring_.buffer, owner_down_atom_v, who);
}

void coordinator_state::tick() {
  after(self_, tick_s, [this] {
    apply(core_.on_tick(now()));
    look();
    tick();
  });
}

void coordinator_state::look() {
  if (!wiring_.buffer || std::exchange(looking_, true))
    return;
  mail_.ask(
    wiring_.buffer, timeout(),
    [this](const buffer_status& status) {
      looking_ = false;
      on_progress(status);
    },
    [this](const error&) { looking_ = false; }, progress_atom_v);
}

void coordinator_state::on_progress(const buffer_status& status) {
  if (parts_.on_status)
    parts_.on_status({status, core_.reports(), core_.missing()});
  keep_pinned(status);
  watch_time(status.progress);
  watch_spread(status.progress);
  watch_stall(status.progress);
  // A learner that ended before this process began cannot say so again.
  if (status.progress.over && (core_.finished() || status.progress.saved))
    stop();
}

void coordinator_state::keep_pinned(const buffer_status& status) {
  std::optional<uint64_t> wanted;
  if (status.pinned)
    wanted = status.version;
  if (!wiring_.weights)
    return;
  // Without an answer either may have happened: the next look asks again.
  auto ignored = [](const error&) {};
  const owner me{parts_.terms.head.name, parts_.terms.head.incarnation, 0};
  if (pinned_ && pinned_ != wanted) {
    mail_.ask(
      wiring_.weights, timeout(),
      [this, old = pinned_] {
        if (pinned_ == old)
          pinned_.reset();
      },
      ignored, unpin_atom_v, me, *pinned_);
  } else if (wanted && !(pinned_ && pin_known_)) {
    pinned_ = wanted;
    pinned_at_ = wiring_.weights;
    pin_known_ = false;
    mail_.ask(
      wiring_.weights, timeout(),
      [this, wanted] { pin_known_ = pinned_ == wanted; }, ignored, pin_atom_v,
      me, *wanted);
  }
}

void coordinator_state::watch_time(const buffer_progress& progress) {
  const auto limit = parts_.settings.run.time_limit_s;
  if (limit <= 0 || progress.over || !is_rl(progress.kind))
    return;
  auto stage = fmt::format("{} {}", progress.stage, progress.name);
  if (stage != timed_stage_) {
    timed_stage_ = stage;
    stage_began_ = now();
  } else if (now() - stage_began_ > limit) {
    say(log_level::notice,
        fmt::format("stage {} ends: its {:.0f} s (run.time_limit_s) are over",
                    progress.name, limit));
    stage_began_ = now() + limit; // Told once; ending takes a while.
    post(self_, wiring_.buffer, end_stage_atom_v);
  }
}

/// Said once a stage: later batches may be as dear, and the run goes on.
void coordinator_state::watch_spread(const buffer_progress& progress) {
  const auto bound = static_cast<double>(progress.barren_bound);
  if (bound == 0 || progress.stuck || told_barren_ == progress.stage
      || static_cast<double>(progress.barren) < barren_share * bound)
    return;
  told_barren_ = progress.stage;
  say(log_level::warning,
      fmt::format("stage {}: {} samples since batch {} gave no group with "
                  "spread to train on: {}; after {} of them "
                  "(buffer.max_rollouts_per_batch) the run ends",
                  progress.name, progress.barren, progress.last_batch,
                  progress.barren_outcomes, progress.barren_bound));
}

void coordinator_state::watch_stall(const buffer_progress& progress) {
  const auto limit = parts_.settings.faults.stall_timeout_s;
  if (progress.stuck && !core_.draining())
    return end_stalled(fmt::format("the run cannot go on: it waits for {}",
                                   progress.waiting_for));
  if (core_.draining() || progress.waiting_s < remark_share * limit) {
    told_stall_.clear();
    return;
  }
  if (progress.waiting_s >= limit)
    return end_stalled(
      fmt::format("the run stalled: nothing has moved for {:.0f} s: it waits "
                  "for {}; when that is mended, continue with --resume",
                  progress.waiting_s, progress.waiting_for));
  if (std::exchange(told_stall_, progress.waiting_for) != progress.waiting_for)
    say(log_level::warning,
        fmt::format("nothing has moved for {:.0f} s: the run waits for {}; "
                    "after {:.0f} s (faults.stall_timeout_s) it ends",
                    progress.waiting_s, progress.waiting_for, limit));
}

void coordinator_state::end_stalled(const std::string& why) {
  parts_.outcome->note_failure(stalled_exit, why);
  stop(why);
}

void coordinator_state::say(log_level level, const std::string& line) const {
  if (parts_.on_line)
    parts_.on_line(level, line);
}

double coordinator_state::now() const {
  return clock_s(self_);
}

double coordinator_state::timeout() const {
  return parts_.settings.faults.request_timeout_s;
}

} // namespace swage
