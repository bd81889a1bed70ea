#pragma once

#include "runtime/buffer/record.hpp"
#include "runtime/error.hpp"
#include "tools/bench/seed_statistics.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace swage::bench {

/// One evaluation on the held-out tasks.
struct evaluation {
  uint64_t version = 0;
  std::vector<task_outcome> tasks;          ///< By task.
  std::map<std::string, uint64_t> outcomes; ///< Samples by category.
};

/// How long one stage took, the training of its last batch included.
struct stage_time {
  std::string name;
  double seconds = 0;
};

/// What reinforcement learning did.
struct reinforcement {
  uint64_t steps = 0;
  uint64_t samples = 0; ///< Of its batches.
  uint64_t masked = 0;  ///< Of these: not trained, their drift was too large.
  uint64_t groups = 0, without_spread = 0; ///< Judged whole; of these.
  double staleness = 0; ///< Mean over the samples of its batches, versions.
};

/// Everything of one seed's run.
struct seed_outcome {
  uint64_t seed = 0;
  evaluation before, after;
  reinforcement rl;
  std::vector<stage_time> stages;
  double wall_s = 0; ///< Of its processes; not in the record.
};

/// Whether a run's stages are all over, all `planned` of them.
result<bool> is_over(const std::filesystem::path& run, size_t planned);

/// Reads the record of a run that is over: the last evaluation before its
/// reinforcement learning and the last one after it. Fails with `not_found`
/// where one of them is missing.
result<seed_outcome> read_seed(const std::filesystem::path& run);

/// From the first grant of each stage to that of the next. A stage that grants
/// nothing (SFT) begins where the one before it stored its last sample.
std::vector<stage_time> stage_times(const std::vector<stage_record>& stages);

/// Samples by task, and by category.
evaluation count_samples(const std::vector<sample_record>& samples);

} // namespace swage::bench
