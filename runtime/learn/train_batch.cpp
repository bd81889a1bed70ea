#include "runtime/learn/train_batch.hpp"

#include "runtime/learn/schedule.hpp"
#include "runtime/learn/train_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace swage {

namespace {

/// A rank's share of `threads`, where 0 is one per core; at least one.
int threads_of_rank(uint32_t threads, uint32_t ranks) {
  if (ranks <= 1)
    return static_cast<int>(threads);
  auto all = threads > 0 ? threads : std::thread::hardware_concurrency();
  return static_cast<int>(std::max(1u, all / ranks));
}

} // namespace

train_options options_for(const batch& what, const config& settings) {
  auto& knobs = settings.learner;
  const auto rl = is_reinforcement(what.kind);
  train_options out;
  out.what = rl ? objective::grpo : objective::sft;
  out.lr = learning_rate(rl ? rl_schedule(knobs) : sft_schedule(knobs),
                         what.progress);
  out.weight_decay = rl ? knobs.weight_decay : knobs.sft_weight_decay;
  out.clip_low = knobs.clip_low;
  out.clip_high = knobs.clip_high;
  out.kl_coefficient = knobs.kl_coefficient;
  out.grad_clip = knobs.grad_clip;
  out.temperature = static_cast<float>(settings.rollout.temperature);
  out.denominator_all = knobs.mask_denominator == "all";
  out.micro_batch_tokens = knobs.micro_batch_tokens;
  out.threads = threads_of_rank(rl ? knobs.threads : knobs.sft_threads,
                                settings.actors.learner);
  return out;
}

std::vector<std::string> thread_warnings(const config& settings) {
  const auto ranks = settings.actors.learner;
  std::vector<std::string> out;
  auto look_at = [&](const char* knob, int32_t threads) {
    if (threads > 0 && static_cast<uint32_t>(threads) < ranks)
      out.push_back(fmt::format("{} = {} is less than actors.learner = {}: "
                                "each rank trains on a thread of its own, so "
                                "{} are used",
                                knob, threads, ranks, ranks));
  };
  look_at("learner.threads", settings.learner.threads);
  look_at("learner.sft_threads", settings.learner.sft_threads);
  return out;
}

result<step_report> train_batch(trainer& model, const judged_batch& from,
                                bool begins_stage, const config& settings) {
  if (begins_stage) {
    model.reset_optimizer();
    if (is_reinforcement(from.what.kind))
      model.set_reference();
  }
  if (from.what.voided)
    return step_report{};
  auto samples = make_train_samples(from, settings.learner);
  return model.step(samples, options_for(from.what, settings));
}

} // namespace swage
