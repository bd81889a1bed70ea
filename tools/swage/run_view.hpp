#pragma once

#include "runtime/buffer/record.hpp"
#include "runtime/error.hpp"
#include "runtime/observe/report.hpp"
#include "runtime/observe/topology_text.hpp"

#include <filesystem>
#include <vector>

namespace swage {

/// Everything that `inspect` shows of a run, read at one time.
struct run_view {
  outline_record outline;
  bool running = false; ///< A process holds its folder.
  std::vector<stage_record> stages;
  std::vector<state_count> states;
  std::vector<category_count> categories;
  std::vector<sample_record> best;
  std::vector<hop_record> hops;
  std::vector<drift_report> drift;
  std::vector<mask_record> masked;
  std::vector<batch_record> batches;
  std::vector<eval_column> evaluations; ///< Those that have samples, in order.
};

/// Whether all of its stages are.
bool is_over(const run_view& run);

/// Whether nothing is left to do of the run in this folder: all stages are over
/// and what was trained is saved. Reads no more than that.
result<bool> is_finished(const std::filesystem::path& run);

/// Fails if the folder is not that of a run, or its record cannot be read.
result<run_view> read_run(const std::filesystem::path& run,
                          uint32_t masked_limit);

/// The evaluations alone.
result<std::vector<eval_column>>
read_evaluations(run_record& record, const std::vector<stage_record>& stages);

/// What flowed over the edges of the run's last reinforcement learning stage
/// (its last stage if it has none).
std::vector<edge_figures> measured_edges(const run_view& run);

/// Name of a stage by its index; "?" if there is none.
std::string stage_name(const run_view& run, uint32_t index);

} // namespace swage
