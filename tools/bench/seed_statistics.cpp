#include "tools/bench/seed_statistics.hpp"

#include "runtime/verify/measure_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace swage::bench {

namespace {

constexpr size_t resamples = 10'000;

double share(uint32_t part, uint32_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / of;
}

double mean(std::span<const double> values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0)
                            / static_cast<double>(values.size());
}

/// Uniform in [0, n), the same on every standard library. The bias is below
/// 2^-32 for the sizes here.
size_t below(std::mt19937_64& engine, size_t n) {
  return static_cast<size_t>((engine() >> 32) * n >> 32);
}

} // namespace

double value_of(const task_outcome& task, metric what) {
  switch (what) {
  case metric::avg_at_k:
    return share(task.successes, task.samples);
  case metric::pass_at_k:
    return task.successes > 0 ? 1 : 0;
  case metric::faster_rate:
    return share(task.faster, task.samples);
  }
  return 0;
}

estimate bootstrap_mean(std::span<const double> values, uint64_t seed) {
  estimate out;
  out.value = out.low = out.high = mean(values);
  if (values.size() < 2)
    return out;
  std::mt19937_64 engine{seed};
  std::vector<double> means(resamples);
  for (auto& one : means) {
    for (size_t i = 0; i < values.size(); ++i)
      one += values[below(engine, values.size())];
    one /= static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  // As many below the interval as above it: 2.5 % each.
  constexpr size_t outside = resamples / 40;
  out.low = means[outside];
  out.high = means[resamples - 1 - outside];
  return out;
}

double sampling_error(std::span<const task_outcome> tasks, metric what) {
  double sum = 0;
  for (auto& one : tasks) {
    auto p = value_of(one, what);
    if (one.samples > 1)
      sum += p * (1 - p) / (one.samples - 1);
  }
  return tasks.empty() ? 0 : std::sqrt(sum) / static_cast<double>(tasks.size());
}

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  for (auto one : values)
    sum += one * one;
  return values.empty() ? 0
                        : std::sqrt(sum / static_cast<double>(values.size()));
}

double median(std::vector<double> values) {
  return values.empty() ? 0 : swage::median(std::move(values));
}

double least(std::span<const double> values) {
  return values.empty() ? 0 : *std::ranges::min_element(values);
}

} // namespace swage::bench
