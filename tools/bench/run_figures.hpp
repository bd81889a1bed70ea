#pragma once

#include "runtime/verify/measure_statistics.hpp"
#include "tools/bench/run_timeline.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// What the comparison of an asynchronous run with one in lock-step computes
/// from what it saw.
namespace swage::bench {

/// One run between the end of its warm-up and its last measured step.
struct run_figures {
  double wall_s = 0;
  uint64_t samples = 0; ///< Trained and not masked.
  double own_s = 0;     ///< CPU time of this process and its descendants.
  double idle_s = 0;    ///< Time that the machine's cores had nothing to do.
  double cores = 0;
  double paused_s = 0; ///< Decoding stood still for measurements.
  double decode_phase_s = 0; ///< Median; from one batch's first token to the
                             ///< last one's. In lock-step only.
  uint32_t verdicts = 0, cached_verdicts = 0;
  work_seconds busy_s{};
};

/// Seconds that the cores in `cores` were idle since the machine started, from
/// the text of /proc/stat. Waiting for a disk is idle. Negative if a core is
/// missing there.
double idle_seconds(std::string_view proc_stat, const std::vector<int>& cores,
                    double ticks_per_s);

double samples_per_s(const run_figures& of);

/// u: of the machine's time that others left, the share that the run did not
/// use either.
double idle_share(const run_figures& of);

/// Share of the machine's time that other processes took.
double others_share(const run_figures& of);

/// The ratio that an asynchronous run has to reach: 0.9 / (1 - u), at least
/// `least`.
double wanted_ratio(double idle_share, double least);

struct run_pair {
  run_figures lockstep, asynchronous;
};

struct ratio_summary {
  double ratio = 0; ///< Median over the pairs.
  interval bounds;  ///< Of that median; the whole range for few pairs.
};

/// Trained samples per second, asynchronous over lock-step.
ratio_summary summarise_ratio(const std::vector<run_pair>& pairs);

double median_idle_share(const std::vector<run_pair>& pairs);

/// Median of the decode phases of the runs in lock-step.
double median_decode_phase_s(const std::vector<run_pair>& pairs);

/// Log-normal with this median and sigma = 1, a function of the seed and of
/// the candidate's number.
double drawn_wait_s(uint64_t seed, uint64_t candidate, double median_s);

} // namespace swage::bench
