#pragma once

#include <array>

namespace swage {

/// OpenMP's variables, the same where a candidate is tested and where it is
/// timed: its threads sleep when they have no work, since spinning would look
/// like work that goes on after the call.
inline constexpr std::array openmp_environment = {
  "OMP_WAIT_POLICY=passive", "OMP_DYNAMIC=false", "OMP_NUM_THREADS=1"};

} // namespace swage
