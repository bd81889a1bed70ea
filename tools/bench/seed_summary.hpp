#pragma once

#include "tools/bench/seed_outcome.hpp"

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace swage::bench {

inline constexpr std::array all_metrics = {metric::avg_at_k, metric::pass_at_k,
                                           metric::faster_rate};

/// One metric before and after reinforcement learning, and the paired gain.
struct change {
  estimate before, after, gain;
};

/// Of one seed; `level` 0 is all levels.
change change_of(const seed_outcome& one, metric what, int32_t level = 0);

/// Of the mean over the seeds: each task's value is averaged over them first,
/// so that the interval is the tasks' and not the seeds'.
change mean_change(std::span<const seed_outcome> all, metric what,
                   int32_t level = 0);

/// The gains of one metric over the seeds.
struct gain_spread {
  double median = 0, min = 0;
};

gain_spread spread_of(std::span<const seed_outcome> all, metric what);

/// `sampling_error` of one evaluation, the quadratic mean over all of them.
double evaluation_error(std::span<const seed_outcome> all, metric what);

/// What the benchmark asserts, and which parts hold.
struct claim {
  bool gains = false;  ///< Avg@k: median at least 10 points.
  bool loses = false;  ///< Avg@k: some seed below minus the evaluation's error.
  bool passes = false; ///< Pass@k: median not below 0.
  bool faster = false; ///< Faster Rate: median above 0.

  bool holds() const { return gains && !loses && passes && faster; }
};

claim judge(std::span<const seed_outcome> all);

/// A named part of the held-out tasks, and how it changed: mean over seeds.
struct part_change {
  std::string name;
  size_t tasks = 0;
  double before = 0, after = 0;

  double gain() const { return after - before; }
};

/// Avg@k by task, most gained first.
std::vector<part_change> by_task(std::span<const seed_outcome> all);

/// Avg@k by tag: the mean of the tasks that have it, most gained first.
std::vector<part_change>
by_tag(std::span<const seed_outcome> all,
       const std::map<std::string, std::vector<std::string>>& tags);

/// Share of the samples by category, by the larger of both shares.
std::vector<part_change> by_category(std::span<const seed_outcome> all);

} // namespace swage::bench
