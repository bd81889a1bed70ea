#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swage {

/// One judged sample of an evaluation.
struct eval_row {
  std::string task;
  int32_t level = 1;
  bool success = false;  ///< Correct and legal (score at least 1).
  double speedup = -1;   ///< Against eager; negative: not measured.
};

/// A share in [0, 1] with its 95 % interval.
struct share {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Metrics of one level, or of all (`level` 0).
struct eval_summary {
  int32_t level = 0;
  uint32_t tasks = 0;
  uint32_t samples = 0;
  uint32_t samples_per_task = 0; ///< k; the smallest over the tasks.
  share pass_at_k;   ///< Tasks with any success among their samples.
  share avg_at_k;    ///< Mean over tasks of the share that succeeds.
  share faster_rate; ///< Samples that succeed and exceed `faster_than`, of all.
};

/// What counts as faster (published): more than 1.1 times eager.
inline constexpr double faster_than = 1.1;

/// One summary per level, ascending, and last the one over all levels.
/// Intervals: Wilson for Pass@k; for the means over tasks, the normal interval
/// with the tasks as clusters, because a task's samples are not independent.
std::vector<eval_summary> summarise(std::span<const eval_row> rows);

} // namespace swage
