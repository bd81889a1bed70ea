#pragma once

#include "runtime/buffer/rows.hpp"
#include "runtime/config/config.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// Where a stage's items come from.
enum class item_source : uint8_t {
  training_pass,  ///< Every training task once.
  training_drawn, ///< Drawn by level weights, or a queued repair.
  collected,      ///< Examples that earlier stages collected.
  held_out,       ///< Every held-out task once.
  validation,     ///< Every validation task once.
};

/// What bounds the number of items in progress.
enum class admission_rule : uint8_t {
  concurrency, ///< `eval_concurrency` open items.
  staleness,   ///< (max_staleness + 1) * groups_per_batch outstanding ones.
  batches,     ///< No items of its own: batches are made when asked for.
};

/// What the learner does with a batch of the stage.
enum class stage_objective : uint8_t { none, sft, grpo };

/// One stage is one row: there is no second pipeline.
struct stage_plan {
  std::string name; ///< As in `run.stages`.
  stage_kind kind = stage_kind::rl_single;
  item_source source = item_source::training_drawn;
  uint64_t limit = 0; ///< Tasks of the source, the first ones; 0: all.
  item_kind items = item_kind::task;
  weights_rule rule = weights_rule::at_least;
  admission_rule admission = admission_rule::staleness;
  item_status terminal = item_status::assigned;
  stage_objective objective = stage_objective::none;
  uint64_t batches = 0; ///< The end of a stage that trains; 0: all items done.
  uint32_t samples = 1; ///< Per item.
  uint32_t max_turns = 1;
  sampling how;
  std::vector<uint32_t> from; ///< SFT: indexes of the stages that collected.

  bool trains() const { return objective != stage_objective::none; }
  bool is_rl() const { return objective == stage_objective::grpo; }
};

/// The run's stages from `run.stages`: "teach", "sft", "rft", "rl-single",
/// "rl-multi", "eval" (held-out tasks) and "eval-validation". Fails with
/// `invalid_config` on another name, and on "sft" before anything to train.
result<std::vector<stage_plan>> make_plan(const config& from);

} // namespace swage
