#include "actors/learner.hpp"

#include "runtime/learn/train_batch.hpp"

#include <chrono>
#include <utility>

namespace swage {

namespace {

constexpr double retry_s = 0.5;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now()
                                       - begin)
    .count();
}

double mean_return(const std::vector<trajectory>& samples) {
  double sum = 0;
  for (auto& one : samples)
    sum += one.ret;
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

} // namespace

learner_state::learner_state(learner_actor::pointer self, learner_parts parts)
  : self_(self),
    box_(self),
    parts_(std::move(parts)),
    core_(parts_.settings.run.checkpoint_interval) {
  // nop
}

learner_actor::behavior_type learner_state::make_behavior() {
  return {
    [this](wire_atom, learner_wiring& wiring) { wire(std::move(wiring)); },
    [this](advance_atom) { train(); },
    [this](stop_atom, double) { return stop(); },
  };
}

template <class... Ts>
void learner_state::ask_ranks(const Ts&... what) {
  for (auto& one : parts_.ranks)
    box_.ask(
      one, parts_.settings.faults.stall_timeout_s, [] {},
      [this](const error& reason) { end(reason.message); }, what...);
}

void learner_state::wire(learner_wiring wiring) {
  if (wiring.generation < wiring_.generation)
    return;
  wiring_ = std::move(wiring);
  const auto complete = wiring_.buffer && wiring_.mirror && wiring_.weights;
  if (!complete || ended_ || std::exchange(started_, true))
    return;
  if (auto restored = restore(); !restored)
    end(restored.error().message);
}

result<void> learner_state::restore() {
  parts_.checkpoints.remove_torn();
  auto newest = parts_.checkpoints.newest_valid();
  if (newest) {
    ask_ranks(restore_atom_v, newest->directory.string());
    if (auto loaded = parts_.model->load(newest->directory); !loaded)
      return loaded;
  }
  perform(core_.start(newest));
  return {};
}

caf::result<uint64_t> learner_state::stop() {
  auto answer = self_->make_response_promise<uint64_t>();
  core_.request_stop();
  if (!started_)
    end(std::nullopt);
  if (ended_)
    answer.deliver(core_.step());
  else
    stopping_ = answer;
  return answer;
}

void learner_state::perform(learner_action next) {
  // Answers come after the end too: a rank that fails brings it at any time.
  if (ended_)
    return;
  switch (next) {
    case learner_action::attach:
      return attach();
    case learner_action::publish:
      return publish();
    case learner_action::ask:
      return ask();
    case learner_action::train:
      // Through the mailbox, so that a stop or a new wiring is seen first.
      return post(self_, learner_actor{self_}, advance_atom_v);
    case learner_action::commit:
      return commit();
    case learner_action::checkpoint:
      return checkpoint();
    case learner_action::announce:
      return announce();
    case learner_action::finish:
      return end(std::nullopt);
    case learner_action::failed:
      return end(core_.reason());
  }
}

void learner_state::attach() {
  box_.ask(
    wiring_.buffer, parts_.settings.faults.request_timeout_s,
    [this](attach_reply& reply) { perform(core_.on_attached(reply)); },
    [this](error reason) { again(learner_action::attach, reason); },
    attach_atom_v, parts_.who);
}

void learner_state::publish() {
  const auto begin = std::chrono::steady_clock::now();
  local_snapshot weights{parts_.model->copy_weights(core_.step())};
  report_.publish_s = seconds_since(begin);
  box_.ask(
    wiring_.weights, parts_.settings.faults.request_timeout_s,
    [this, version = core_.step()] {
      // A hint: one that is lost costs a rollout no more than its next sync.
      for (auto& one : wiring_.rollouts)
        post(self_, one, available_atom_v, version);
      perform(core_.on_published());
    },
    [this](error reason) { again(learner_action::publish, reason); },
    publish_atom_v, std::move(weights));
}

void learner_state::ask() {
  if (asked_at_ == 0)
    asked_at_ = clock_s(self_);
  const auto timeout = parts_.settings.faults.request_timeout_s
                       + parts_.settings.buffer.poll_hold_s;
  box_.ask(
    wiring_.mirror, timeout,
    [this](judged_reply& reply) {
      const auto next = core_.on_next(reply);
      batch_ = std::move(reply.what);
      if (next == learner_action::ask)
        after(self_, 0.02, [this] { perform(learner_action::ask); });
      else
        perform(next);
    },
    [this](error reason) { again(learner_action::ask, reason); }, next_atom_v,
    core_.epoch(), core_.step());
}

void learner_state::train() {
  if (ended_)
    return;
  const auto waited = clock_s(self_) - std::exchange(asked_at_, 0);
  busy_scope busy{*parts_.counter};
  const auto begin = std::chrono::steady_clock::now();
  // At the same time: each waits for the others' gradients.
  if (!parts_.ranks.empty())
    ask_ranks(train_atom_v, rank_job{batch_, core_.stage_changed()});
  auto trained = train_batch(*parts_.model, batch_, core_.stage_changed(),
                             parts_.settings);
  if (!trained)
    return end(trained.error().message);
  report_ = *trained;
  report_.step = batch_.what.step;
  report_.kind = batch_.what.kind;
  report_.mean_return = mean_return(batch_.samples);
  report_.wait_s = waited;
  report_.train_s = seconds_since(begin);
  perform(core_.on_trained());
}

void learner_state::commit() {
  box_.ask(
    wiring_.buffer, parts_.settings.faults.request_timeout_s,
    [this] {
      if (parts_.on_step)
        parts_.on_step(report_);
      perform(core_.on_committed());
    },
    [this](error reason) { again(learner_action::commit, reason); },
    commit_atom_v, core_.epoch(), report_);
}

void learner_state::checkpoint() {
  checkpoint_info info;
  info.step = core_.step();
  info.hash = core_.hash();
  info.stage = to_string(core_.stage());
  auto written = parts_.checkpoints.write(
    info, [this](auto& directory) { return parts_.model->save(directory); });
  if (!written)
    return end(written.error().message);
  perform(core_.on_checkpointed());
}

void learner_state::announce() {
  box_.ask(
    wiring_.buffer, parts_.settings.faults.request_timeout_s,
    [this] { perform(core_.on_announced()); },
    [this](error reason) { again(learner_action::announce, reason); },
    checkpointed_atom_v, core_.epoch(), core_.step(), core_.hash());
}

void learner_state::end(std::optional<std::string> reason) {
  if (std::exchange(ended_, true))
    return;
  if (stopping_)
    stopping_->deliver(core_.step());
  stopping_.reset();
  if (parts_.on_end)
    parts_.on_end(std::move(reason));
}

void learner_state::again(learner_action what, const error& reason) {
  if (reason.code == ec::fenced)
    return end("another learner has taken over: " + reason.message);
  after(self_, retry_s, [this, what] { perform(what); });
}

} // namespace swage
