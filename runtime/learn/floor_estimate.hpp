#pragma once

#include <cstdint>
#include <deque>
#include <span>

namespace swage {

/// The numerical floor of the edge between rollout and mirror: how much
/// log-probabilities of the same tokens under the same weights differ. A
/// property of the edge, measured apart from policy lag.
class floor_estimate {
public:
  /// One sequence scored twice under equal weights: mean_t |difference|.
  void add(double mean_abs);

  /// Median of the last measurements, so that one rollout that computes
  /// something else does not open the mask; 0 before the first.
  double value() const;

private:
  static constexpr size_t window = 64;
  std::deque<double> recent_;
};

} // namespace swage
