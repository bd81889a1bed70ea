#include "runtime/learn/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace swage {

namespace {

constexpr double z = 1.959964; // 97.5 % quantile of the normal distribution

struct task_counts {
  uint32_t samples = 0;
  uint32_t successes = 0;
  uint32_t faster = 0;
};

share wilson(double successes, double n) {
  if (n == 0)
    return {};
  const auto p = successes / n;
  const auto centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const auto half = z / (1 + z * z / n)
                    * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {p, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

/// Mean over tasks with the tasks' own spread as its error.
share clustered_mean(const std::vector<double>& values) {
  if (values.empty())
    return {};
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (auto v : values)
    mean += v / n;
  double variance = 0;
  for (auto v : values)
    variance += (v - mean) * (v - mean) / std::max(1.0, n - 1);
  const auto half = z * std::sqrt(variance / n);
  return {mean, std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

eval_summary summarise_tasks(const std::map<std::string, task_counts>& tasks,
                             int32_t level) {
  eval_summary out;
  out.level = level;
  out.tasks = static_cast<uint32_t>(tasks.size());
  std::vector<double> success;
  std::vector<double> faster;
  double passed = 0;
  for (auto& [id, counts] : tasks) {
    out.samples += counts.samples;
    out.samples_per_task = success.empty()
                             ? counts.samples
                             : std::min(out.samples_per_task, counts.samples);
    passed += counts.successes > 0 ? 1 : 0;
    success.push_back(static_cast<double>(counts.successes) / counts.samples);
    faster.push_back(static_cast<double>(counts.faster) / counts.samples);
  }
  out.pass_at_k = wilson(passed, static_cast<double>(tasks.size()));
  out.avg_at_k = clustered_mean(success);
  out.faster_rate = clustered_mean(faster);
  return out;
}

} // namespace

std::vector<eval_summary> summarise(std::span<const eval_row> rows) {
  std::map<int32_t, std::map<std::string, task_counts>> levels;
  std::map<std::string, task_counts> all;
  for (auto& row : rows)
    for (auto* counts : {&levels[row.level][row.task], &all[row.task]}) {
      ++counts->samples;
      counts->successes += row.success ? 1 : 0;
      counts->faster += row.success && row.speedup > faster_than ? 1 : 0;
    }
  std::vector<eval_summary> out;
  for (auto& [level, tasks] : levels)
    out.push_back(summarise_tasks(tasks, level));
  out.push_back(summarise_tasks(all, 0));
  return out;
}

} // namespace swage
