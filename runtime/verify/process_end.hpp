#pragma once

#include "runtime/verify/rejection.hpp"

namespace swage {

/// How a candidate's process ended that left no word.
struct process_end {
  int status = 0; ///< As wait(2) has it.
  double cpu_s = 0;
  double cpu_limit_s = 0;
};

/// What that says about the candidate. Nothing, if it was killed and its CPU time
/// was not used up: `infra_worker`. A system short of memory kills whom it likes.
rejection verdict_on(const process_end& how);

} // namespace swage
