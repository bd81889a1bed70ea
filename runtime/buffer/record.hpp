#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/buffer/sqlite.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swage {

/// How far a run is, as its journal says.
struct outline_record {
  uint64_t stages = 0; ///< It consists of so many.
  std::string ended;   ///< Why it could not go on; empty: nothing held it up.
  bool saved = false;  ///< A checkpoint holds the newest committed batch.
};

/// A stage of a run as it is recorded, with its items by state.
struct stage_record {
  uint32_t index = 0;
  std::string name;
  uint64_t version = 0; ///< Newest committed when it began.
  bool over = false;
  uint64_t items = 0, samples = 0;
  uint64_t batches = 0, committed = 0, voided = 0;
  double begun_s = 0, ended_s = 0; ///< First grant, last store; Unix seconds.
  /// What its committed steps took, without the wait for the first batch.
  double trained_s = 0;
};

/// Items of a stage in one state, with the reason of those discarded.
struct state_count {
  uint32_t stage = 0;
  std::string state, reason;
  uint64_t items = 0;
};

/// Samples of a stage with one category.
struct category_count {
  uint32_t stage = 0;
  std::string category;
  uint64_t samples = 0;
};

/// One sample, as `swage inspect` shows it.
struct sample_record {
  uint64_t item = 0;
  uint32_t index = 0;
  uint32_t stage = 0;
  std::string task;
  int32_t level = 0;
  std::string category;
  bool success = false, dropped = false;
  double speedup = -1; ///< Negative: not measured.
  double score = 0, ret = 0, first_score = 0;
  uint32_t turns = 0;
  uint64_t step = 0;    ///< Its RL batch; 0: none.
  uint64_t version = 0; ///< Oldest of its trained tokens.
  std::string response, detail;
};

/// Why one sample was masked.
struct mask_record {
  judgement what;
  std::string task, category;
  double ret = 0;
  double delta = 0; ///< The bound of its step.
};

/// Seconds and versions that the samples of one stage spent at one hop.
struct hop_record {
  uint32_t stage = 0;
  std::string hop;
  uint64_t samples = 0;
  double mean = 0, p50 = 0, p90 = 0, max = 0;
  std::string unit = "s"; ///< Or "versions".
};

/// A batch with its training step's figures.
struct batch_record {
  uint64_t step = 0;
  uint32_t stage = 0;
  uint64_t hash = 0;
  uint32_t deliveries = 0;
  bool committed = false, voided = false;
  step_report report; ///< Meaningful if committed.
};

/// Read-only questions to a run's `run.db`, also while the run goes on.
class run_record {
public:
  /// Fails with `not_found`, `unsupported` (another schema) or `corrupt`.
  static result<run_record> open(const std::filesystem::path& run_db);

  result<outline_record> outline();
  result<std::vector<stage_record>> stages();
  result<std::vector<state_count>> states();

  /// By stage, most frequent first; dropped samples are under their category.
  result<std::vector<category_count>> categories();

  /// The fastest correct and legal sample of each task, fastest first.
  result<std::vector<sample_record>> best_kernels();

  /// Samples of one task, newest first, at most `limit`.
  result<std::vector<sample_record>> samples_of(const std::string& task,
                                                uint32_t limit);

  /// Every sample of an evaluation stage, dropped ones too, by (task, index);
  /// texts are left empty.
  result<std::vector<sample_record>> evaluation(uint32_t stage);

  /// Time at each hop ("queue", "decode", "verify", "store", "wait", seconds)
  /// and staleness ("in flight": newest - oldest version; "in queue":
  /// (step - 1) - newest; "total": what the mirror judged, versions).
  result<std::vector<hop_record>> hops();

  result<std::vector<drift_report>> drift();
  result<std::vector<mask_record>> masked(uint32_t limit);
  result<std::vector<batch_record>> batches();

private:
  run_record(sqlite::database db, int64_t schema)
    : db_(std::move(db)), schema_(schema) {}

  sqlite::database db_;
  int64_t schema_; ///< 1: from before tokens had weights.
};

} // namespace swage
