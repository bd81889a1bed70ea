#include "runtime/learn/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace swage {

double learning_rate(const lr_schedule& schedule, double progress) {
  progress = std::clamp(progress, 0.0, 1.0);
  if (progress < schedule.warmup)
    return schedule.peak * progress / schedule.warmup;
  const auto t = schedule.warmup < 1
                   ? (progress - schedule.warmup) / (1 - schedule.warmup)
                   : 1;
  const auto last = schedule.peak * schedule.final_share;
  switch (schedule.shape) {
    case lr_schedule::linear:
      return schedule.peak + (last - schedule.peak) * t;
    case lr_schedule::cosine:
      return last
             + (schedule.peak - last)
                 * (1 + std::cos(std::numbers::pi * t)) / 2;
    default:
      return schedule.peak;
  }
}

lr_schedule rl_schedule(const learner_config& settings) {
  lr_schedule out;
  out.peak = settings.lr;
  out.warmup = settings.warmup;
  out.final_share = settings.lr_final;
  if (settings.lr_schedule == "linear")
    out.shape = lr_schedule::linear;
  else if (settings.lr_schedule == "cosine")
    out.shape = lr_schedule::cosine;
  return out;
}

lr_schedule sft_schedule(const learner_config& settings) {
  lr_schedule out;
  out.peak = settings.sft_lr;
  out.warmup = settings.sft_warmup;
  out.final_share = 0.01;
  out.shape = lr_schedule::cosine;
  return out;
}

} // namespace swage
