#pragma once

#include "runtime/verify/rejection.hpp"

#include <cstdint>

namespace swage {

/// How a candidate's process ended that left no word.
struct process_end {
  int status = 0; ///< As wait(2) has it.
  double cpu_s = 0;
  double cpu_limit_s = 0;
  uint64_t oom_kills = 0; ///< `system_oom_kills` when it began.
};

/// Processes that this system has killed for want of memory; 0 if it does not
/// tell.
uint64_t system_oom_kills();

/// What that says about the candidate. Nothing, if it was killed and neither
/// its CPU time nor the system's memory was used up: `infra_worker`.
rejection verdict_on(const process_end& how);

} // namespace swage
