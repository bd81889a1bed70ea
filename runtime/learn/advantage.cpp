#include "runtime/learn/advantage.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace swage {

namespace {

constexpr double epsilon = 1e-6;
constexpr double success = 1;

} // namespace

std::vector<double> advantages(std::span<const double> returns,
                               double std_floor) {
  std::vector<double> out(returns.size(), 0.0);
  if (!has_spread(returns))
    return out; // Rounding in the mean must not make an advantage.
  const auto n = static_cast<double>(returns.size());
  const auto mean = std::accumulate(returns.begin(), returns.end(), 0.0) / n;
  double variance = 0;
  for (auto r : returns)
    variance += (r - mean) * (r - mean) / n;
  const auto divisor = std::max(std::sqrt(variance), std_floor) + epsilon;
  for (size_t i = 0; i < returns.size(); ++i)
    out[i] = (returns[i] - mean) / divisor;
  return out;
}

bool has_spread(std::span<const double> returns) {
  return std::adjacent_find(returns.begin(), returns.end(),
                            std::not_equal_to<>{})
         != returns.end();
}

double trajectory_return(std::span<const double> scores,
                         const prime_echo& weights) {
  const auto best = *std::max_element(scores.begin(), scores.end());
  double bonus = 0;
  if (scores[0] >= success)
    bonus = weights.bonus_first;
  else if (scores.size() > 1 && scores[1] >= success)
    bonus = weights.bonus_second;
  return weights.first_turn_weight * scores[0]
         + (1 - weights.first_turn_weight) * best + bonus;
}

} // namespace swage
