#include "actors/mirror.hpp"

#include "runtime/learn/train_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace swage {

namespace {

constexpr size_t floor_samples = 4; ///< Rescored a batch; each costs a forward.

double wall_clock_s() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

bool written_at(const turn& one, uint64_t version) {
  return !one.versions.empty()
         && std::all_of(one.versions.begin(), one.versions.end(),
                        [&](auto& run) { return run.version == version; });
}

} // namespace

mirror_state::mirror_state(mirror_actor::pointer self, mirror_parts parts)
  : self_(self), box_(self), parts_(std::move(parts)) {
  // nop
}

mirror_actor::behavior_type mirror_state::make_behavior() {
  return {
    [this](wire_atom, mirror_wiring& wiring) {
      if (wiring.generation >= wiring_.generation)
        wiring_ = std::move(wiring);
    },
    [this](next_atom, uint64_t epoch, uint64_t after) {
      return next(epoch, after);
    },
  };
}

caf::result<judged_reply> mirror_state::next(uint64_t epoch, uint64_t after) {
  if (work_)
    fail({ec::cancelled, "replaced by a later request"});
  auto answer = self_->make_response_promise<judged_reply>();
  work_.emplace();
  work_->turn = ++turns_;
  work_->epoch = epoch;
  work_->answer = answer;
  box_.ask(
    wiring_.buffer, timeout() + parts_.settings.buffer.poll_hold_s,
    [this, turn = turns_](next_reply& reply) {
      if (current(turn))
        on_batch(std::move(reply));
    },
    [this, turn = turns_](error reason) {
      if (current(turn))
        fail(std::move(reason));
    },
    next_batch_atom_v, epoch, after);
  return answer;
}

void mirror_state::on_batch(next_reply reply) {
  auto& what = work_->what;
  what.what = std::move(reply.what);
  if (reply.status != next_status::ready) {
    judged_reply out;
    out.status = reply.status;
    work_->answer.deliver(std::move(out));
    work_.reset();
    return;
  }
  if (what.what.voided || what.what.members.empty())
    return deliver();
  what.samples.resize(what.what.members.size());
  work_->missing = what.samples.size();
  for (size_t i = 0; i < what.samples.size(); ++i)
    fetch(i);
}

void mirror_state::fetch(size_t index) {
  const auto& member = work_->what.what.members[index];
  box_.ask(
    wiring_.buffer, timeout(),
    [this, index, turn = work_->turn](trajectory& sample) {
      if (!current(turn))
        return;
      work_->what.samples[index] = std::move(sample);
      if (--work_->missing == 0)
        on_complete();
    },
    [this, turn = work_->turn](error reason) {
      if (current(turn))
        fail(std::move(reason));
    },
    fetch_atom_v, member.item, member.index);
}

void mirror_state::on_complete() {
  auto& what = work_->what;
  const auto now = wall_clock_s();
  for (auto& sample : what.samples)
    sample.hops.trained = now;
  if (!is_reinforcement(what.what.kind))
    return deliver();
  if (!what.what.recorded.empty()) {
    what.judgements = what.what.recorded;
    return deliver();
  }
  pull_weights();
}

void mirror_state::pull_weights() {
  const auto version = work_->what.what.step - 1;
  if (parts_.model->version() == version && version > 0)
    return score();
  box_.ask(
    wiring_.weights, timeout(),
    [this, turn = work_->turn](local_snapshot& newest) {
      if (!current(turn))
        return;
      if (auto loaded = parts_.model->load(newest.weights); !loaded)
        return fail(loaded.error());
      score();
    },
    [this, turn = work_->turn](error reason) {
      if (current(turn))
        fail(std::move(reason));
    },
    local_atom_v, version);
}

void mirror_state::score() {
  // First, so that the rollout scores while this does.
  measure_floor();
  busy_scope busy{*parts_.counter};
  auto scored = score_batch(
    work_->what, *parts_.model,
    static_cast<float>(parts_.settings.rollout.temperature));
  if (!scored)
    return fail(scored.error());
  work_->scored = std::move(*scored);
  if (!work_->rescoring)
    judge();
}

void mirror_state::measure_floor() {
  rescore_request ask;
  ask.version = parts_.model->version();
  ask.temperature = static_cast<float>(parts_.settings.rollout.temperature);
  std::vector<std::vector<float>> before;
  for (auto& sample : work_->what.samples) {
    if (sample.turns.empty() || before.size() == floor_samples)
      continue;
    auto& first = sample.turns.front();
    if (before.empty() && !first.versions.empty())
      ask.version = first.versions.back().version;
    if (!written_at(first, ask.version))
      continue;
    ask.sequences.push_back({first.prompt, first.response});
    before.push_back(first.logprobs);
  }
  if (before.empty() || wiring_.rollouts.empty())
    return;
  work_->rescoring = true;
  auto& asked = wiring_.rollouts[turns_ % wiring_.rollouts.size()];
  box_.ask(
    asked, timeout(),
    [this, before, turn = work_->turn](rescore_reply& reply) {
      for (size_t i = 0; i < before.size() && i < reply.logprobs.size(); ++i)
        if (reply.logprobs[i].size() == before[i].size())
          floor_.add(drift(reply.logprobs[i], before[i]).mean_abs);
      if (current(turn))
        judge();
    },
    // That rollout has other weights by now: the floor of before holds.
    [this, turn = work_->turn](error) {
      if (current(turn))
        judge();
    },
    rescore_atom_v, std::move(ask));
}

void mirror_state::judge() {
  auto& what = work_->what;
  auto& scored = work_->scored;
  auto rule = make_mask_rule(parts_.settings.learner, floor_.value());
  rule.seed = parts_.settings.run.seed;
  what.judgements = judge_batch(what, scored, rule, floor_.value());
  // After that: no sample is a measure of itself.
  for (size_t i = 0; i < what.samples.size(); ++i)
    if (what.samples[i].oldest_version() + 1 == what.what.step) {
      auto& one = scored[i]; // No lag: all of it is floor.
      floor_.add(drift(one.current, one.behaviour).mean_abs);
    }
  drift_ = summarise(what.judgements,
                     batch_advantages(what.what, what.samples,
                                      parts_.settings.learner.std_floor),
                     rule);
  store();
}

void mirror_state::store() {
  judgement_report report{work_->epoch, work_->what.judgements, drift_};
  box_.ask(
    wiring_.buffer, timeout(),
    [this, turn = work_->turn] {
      if (!current(turn))
        return;
      if (parts_.on_drift)
        parts_.on_drift(drift_);
      deliver();
    },
    [this, turn = work_->turn](error reason) {
      if (current(turn))
        fail(std::move(reason));
    },
    judgement_atom_v, std::move(report));
}

void mirror_state::deliver() {
  judged_reply out;
  out.status = next_status::ready;
  out.what = std::move(work_->what);
  work_->answer.deliver(std::move(out));
  work_.reset();
}

void mirror_state::fail(error reason) {
  work_->answer.deliver(to_caf(reason));
  work_.reset();
}

double mirror_state::timeout() const {
  return parts_.settings.faults.request_timeout_s;
}

} // namespace swage
