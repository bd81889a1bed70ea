#include "runtime/verify/measure_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace swage {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// How many of the smallest of n values lie left of the interval: the largest
/// k with P(X < k) <= tail for X ~ Binomial(n, 1/2).
size_t left_out(size_t n, double tail) {
  auto probability = std::exp2(-static_cast<double>(n));
  double below = 0;
  size_t k = 0;
  while (k < n / 2) {
    below += probability;
    if (below > tail)
      break;
    ++k;
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  return k;
}

bool is_time(double value) {
  return std::isfinite(value) && value > 0;
}

} // namespace

double median(std::vector<double> values) {
  if (values.empty())
    return nan;
  auto half = values.size() / 2;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

interval median_interval(std::vector<double> values, double confidence) {
  if (values.empty())
    return {nan, nan};
  std::sort(values.begin(), values.end());
  auto k = left_out(values.size(), (1 - confidence) / 2);
  // P(X < k) <= tail: the k-th smallest is at most the median that often.
  k = k == 0 ? 0 : k - 1;
  return {values[k], values[values.size() - 1 - k]};
}

timing_summary summarise(std::span<const timed_pair> pairs,
                         std::span<const timed_pair> empty) {
  std::vector<double> ratios, reference, candidate;
  for (size_t i = 0; i < pairs.size(); ++i) {
    // One reading that is no time makes the whole measurement none.
    for (auto value : {pairs[i].reference, pairs[i].candidate,
                       empty[i].reference, empty[i].candidate})
      if (!is_time(value))
        return {nan, {nan, nan}, nan, nan};
    auto own = [](double time, double idle) {
      return std::max(time - idle, timing_resolution_s);
    };
    reference.push_back(own(pairs[i].reference, empty[i].reference));
    candidate.push_back(own(pairs[i].candidate, empty[i].candidate));
    ratios.push_back(reference.back() / candidate.back());
  }
  return {median(ratios), median_interval(ratios), median(reference),
          median(candidate)};
}

bool plausible(const timing_summary& what) {
  for (auto x : {what.speedup, what.bounds.low, what.bounds.high,
                 what.reference_s, what.candidate_s})
    if (!is_time(x))
      return false;
  return true;
}

} // namespace swage
