#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swage::bench {

/// What one evaluation found for one task.
struct task_outcome {
  std::string task;
  int32_t level = 1;
  uint32_t samples = 0;   ///< Judged ones: `infra` is nobody's failure.
  uint32_t successes = 0; ///< Correct and legal.
  uint32_t faster = 0;    ///< Of these, those above 1.1 times eager.
};

enum class metric : uint8_t {
  avg_at_k,    ///< Share of the samples that succeed.
  pass_at_k,   ///< 1 if any does, else 0.
  faster_rate, ///< Share of the samples that are faster.
};

/// Of one task, in [0, 1].
double value_of(const task_outcome& task, metric what);

/// A mean with its 95 % interval.
struct estimate {
  double value = 0, low = 0, high = 0;
};

/// Mean of the tasks' values. The interval is the bootstrap's: the tasks are
/// drawn anew, with replacement, from a generator that starts at `seed`.
estimate bootstrap_mean(std::span<const double> values, uint64_t seed);

/// The standard error that Avg@k or Faster Rate of one evaluation has because
/// each task is sampled k times only, the tasks being given:
///   sqrt(sum_t p_t (1 - p_t) / (k_t - 1)) / T
/// with p_t the observed share. Dividing by k_t - 1 makes the square unbiased.
/// @pre `what` is not `pass_at_k`.
double sampling_error(std::span<const task_outcome> tasks, metric what);

/// Square root of the mean square.
double root_mean_square(std::span<const double> values);

/// Of an even number, the mean of the two in the middle; of none, 0.
double median(std::vector<double> values);

/// The smallest; of none, 0.
double least(std::span<const double> values);

} // namespace swage::bench
