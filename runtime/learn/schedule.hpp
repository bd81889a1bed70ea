#pragma once

#include "runtime/config/config.hpp"

namespace swage {

/// How a learning rate moves over a stage.
struct lr_schedule {
  double peak = 1e-4;
  double warmup = 0;      ///< Share of the stage that rises linearly from 0.
  double final_share = 1; ///< Of the peak, reached at the stage's end.
  enum { constant, linear, cosine } shape = constant;
};

/// Rate for the step that brings its stage to `progress` in (0, 1].
double learning_rate(const lr_schedule& schedule, double progress);

lr_schedule rl_schedule(const learner_config& settings);

/// SFT: one cycle, linear warm-up and cosine decay to a hundredth.
lr_schedule sft_schedule(const learner_config& settings);

} // namespace swage
