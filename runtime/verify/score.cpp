#include "runtime/verify/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace swage {

double score(const verdict& outcome, const reward_options& options) {
  if (is_uncharged(outcome.kind))
    return std::numeric_limits<double>::quiet_NaN();
  if (outcome.ok()) {
    // Where no speed was measured a correct kernel has its plain reward.
    if (!outcome.correct || !outcome.legal)
      return -1;
    auto gain = std::isfinite(outcome.speedup) ? outcome.speedup - 1 : 0.0;
    return 1
           + options.speed_weight
               * std::min(std::max(gain, 0.0), options.max_speed_bonus);
  }
  auto partial = outcome.kind == category::correctness_shape
                 || outcome.kind == category::correctness_dtype
                 || outcome.kind == category::correctness_tolerance;
  auto q = outcome.pass_fraction;
  return partial && q > 0 && q < 1 ? -0.5 + 0.5 * q : -1.0;
}

} // namespace swage
