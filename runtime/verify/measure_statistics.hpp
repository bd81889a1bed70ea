#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace swage {

/// The middle value, or the mean of the two; NaN of nothing.
double median(std::vector<double> values);

struct interval {
  double low = 0;
  double high = 0;
};

/// An interval that holds the true median with at least the given confidence,
/// from order statistics: nothing is assumed about the distribution. With too
/// few values for that it is their whole range; NaN of nothing.
interval median_interval(std::vector<double> values, double confidence = 0.95);

/// One reading of the clock on each side, in seconds.
struct timed_pair {
  double reference = 0;
  double candidate = 0;
};

struct timing_summary {
  double speedup = 0;     ///< Median of the ratios reference / candidate.
  interval bounds;        ///< Of that median.
  double reference_s = 0; ///< Medians, without what an empty call takes.
  double candidate_s = 0;
};

/// Shorter than this a call is not told from an empty one: a switch of the
/// process jitters by as much.
inline constexpr double timing_resolution_s = 1e-6;

/// Sums up pairs after subtracting from each what an empty call took on either
/// side at its time; what is left counts as at least `timing_resolution_s`.
/// @pre `empty` is as long as `pairs`.
timing_summary summarise(std::span<const timed_pair> pairs,
                         std::span<const timed_pair> empty);

/// Whether the numbers are times: finite and positive.
bool plausible(const timing_summary& what);

} // namespace swage
