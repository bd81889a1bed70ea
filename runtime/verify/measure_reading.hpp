#pragma once

#include "runtime/verify/measure_statistics.hpp"

namespace swage {

/// What one side took in one pair, in seconds.
struct reading {
  double time = 0;              ///< One call, waking included.
  double before = 0, after = 0; ///< Empty calls around it.
  double bare = 0;              ///< An empty call that only our code answers.
  double outside = 0;           ///< CPU time beside the call,
  double waiting = 0;           ///< of it, with the inputs there already.

  double idle() const { return (before + after) / 2; }
};

/// What is subtracted from a candidate's call: a candidate that is slow to
/// answer an empty call is not the faster for it.
double creditable(const timed_pair& empty);

/// Whether the system woke processes as quickly before as after both calls. A
/// pair that saw a change is left out, unless that happens too often.
bool steady(const reading& reference, const reading& candidate);

} // namespace swage
