#include "runtime/verify/measure_reading.hpp"

#include <algorithm>
#include <cmath>

namespace swage {

namespace {

/// Waking a process takes 6 or 20 microseconds, in phases of the scheduler's: a
/// change by this share of a call is one.
constexpr double max_idle_change = 0.1;

/// A candidate's process is slower to wake than ours by its filter of system
/// calls, which takes less than this share.
constexpr double max_slower_wake = 0.1;

/// By more than this a candidate's pair is left out, as one that saw a change.
constexpr double max_apart_s = 5e-6;

} // namespace

double creditable(const timed_pair& empty) {
  return std::min(empty.candidate, (1 + max_slower_wake) * empty.reference);
}

bool steady(const reading& reference, const reading& candidate) {
  auto changed = [](const reading& x) {
    return std::abs(x.before - x.after) > max_idle_change * x.time;
  };
  auto apart = candidate.idle() - reference.bare;
  return !changed(reference) && !changed(candidate)
         && apart <= std::max(max_idle_change * candidate.time, max_apart_s);
}

} // namespace swage
