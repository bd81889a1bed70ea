#pragma once

#include <span>
#include <vector>

namespace swage {

/// Group-relative advantages (Eq. 3): A_i = (R_i - mean) / (std + epsilon)
/// over one group, population standard deviation.
/// `std_floor` bounds the divisor from below, so that a group which differs by
/// timing noise alone does not get full advantages.
std::vector<double> advantages(std::span<const double> returns,
                               double std_floor);

/// Whether the returns of a group differ; if not, it teaches nothing.
bool has_spread(std::span<const double> returns);

/// Weights of PrimeEcho (Eq. 9-12).
struct prime_echo {
  double first_turn_weight = 0.75; ///< alpha
  double bonus_first = 0.15;       ///< beta_1: success at turn 1
  double bonus_second = 0.08;      ///< beta_2: failure at 1, success at 2
};

/// The return of a trajectory from its turns' scores:
///   R = alpha s_1 + (1 - alpha) max_k s_k + early bonus.
/// A turn succeeded when its score is at least 1 (Eq. 22).
/// @pre `scores` is not empty.
double trajectory_return(std::span<const double> scores,
                         const prime_echo& weights);

} // namespace swage
