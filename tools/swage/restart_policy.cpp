#include "tools/swage/restart_policy.hpp"

#include "actors/outcome.hpp"

#include <algorithm>
#include <cmath>

namespace swage {

namespace {

constexpr int system_failed = 3;
constexpr double longest_wait_s = 60;

} // namespace

restart_policy::restart_policy(uint32_t max_restarts, double stall_timeout_s,
                               double first_wait_s)
  : max_restarts_{max_restarts},
    settled_s_{2 * stall_timeout_s},
    first_wait_s_{first_wait_s} {}

restart_decision restart_policy::on_end(const child_end& end, bool stopping) {
  bool final_code = !end.by_signal && end.value != system_failed
                    && end.value >= 0 && end.value <= stalled_exit;
  if (final_code)
    return {.exit_code = end.value};
  if (end.lived_s >= settled_s_)
    restarts_ = 0;
  if (stopping || restarts_ >= max_restarts_)
    return {.exit_code = system_failed, .gave_up = !stopping};
  auto wait = std::min(longest_wait_s, first_wait_s_ * std::exp2(restarts_));
  ++restarts_;
  return {.restart = true, .after_s = wait};
}

} // namespace swage
