#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/buffer/grant.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace swage {

/// Where an item is in its life: `open -> verified -> assigned`, or an end.
enum class item_status : uint8_t {
  queued,    ///< A repair that was not drawn yet.
  open,      ///< Samples are missing.
  verified,  ///< Complete, waits for a batch.
  assigned,  ///< In batch `step`.
  discarded, ///< End: see the reason.
  collected, ///< End of teaching and RFT: its successes are examples.
  scored,    ///< End of evaluation.
};

/// Why an item was discarded; `none` in every other state.
enum class discard_reason : uint8_t {
  none,
  attempts,     ///< Granted `max_attempts` times and never completed.
  no_spread,    ///< All returns are equal: no advantage to learn from.
  failed,       ///< Teaching, RFT: no sample succeeded.
  infra,        ///< Too few samples were judged; not the policy's fault.
  task_invalid, ///< The task itself cannot be judged.
  stale,        ///< Could not be trained within `max_staleness`.
  poison,       ///< Its batch was voided: learners died in it.
  evicted,      ///< A repair pushed out of the full queue.
  stage_over,   ///< Its stage ended first.
};

const char* to_string(item_status value);
const char* to_string(discard_reason value);
bool from_string(const std::string& text, item_status& value);
bool from_string(const std::string& text, discard_reason& value);

/// Durable row of one item.
struct item_row {
  item what;
  uint32_t samples = 0; ///< G: how many it consists of.
  item_status status = item_status::open;
  discard_reason reason = discard_reason::none;
  /// Assigned: its batch. Ended: the newest recorded batch at that moment.
  uint64_t step = 0;
  uint64_t parent = 0; ///< Repair: the failed item. 0: none. Unique.
  int32_t level = 0;   ///< Of its task, for the record.
};

/// What the buffer decides on: the durable summary of one trajectory.
struct sample_row {
  uint64_t item = 0;
  uint32_t index = 0;
  double ret = 0;
  bool versioned = false; ///< Whether any trained token carries a version.
  uint64_t oldest = 0;    ///< Oldest version among its trained tokens.
  uint64_t bytes = 0;     ///< Of the trajectory in memory.
  uint64_t text_hash = 0; ///< XXH3-64 of the response that counts.
  category kind = category::infra_worker; ///< Of the turn that counts.
  bool dropped = false; ///< Not charged to the policy; no part of its group.
  bool success = false; ///< Some turn is ok with s >= 1.
  bool failed = false;  ///< s = -1 at every turn.
  std::string text;     ///< Failed samples only: for the repair.
  std::string feedback;
};

/// Durable row of one batch.
struct batch_row {
  uint64_t step = 0;
  uint32_t stage = 0;
  uint64_t hash = 0;
  uint32_t deliveries = 1;
  uint64_t epoch = 0; ///< Of the learner that it was last delivered to.
  bool committed = false;
  bool voided = false;
  std::vector<batch_member> members; ///< Sorted; kept when voided.
};

/// Durable row of a stage that has begun.
struct stage_row {
  uint32_t index = 0;
  std::string name;
  uint64_t version = 0; ///< Newest committed when it began.
  bool over = false;
  bool cut = false; ///< Ends with the batches that are recorded.
};

struct checkpoint_row {
  uint64_t step = 0;
  uint64_t hash = 0;
};

/// The index of the turn that counts: the first of those with the best score.
/// @pre `what` has a turn.
size_t best_turn(const trajectory& what);

/// Whether all response tokens of such an item are trained, or the first
/// turn's only (multi-turn RL; repairs always train all).
bool trains_all_turns(stage_kind stage, item_kind kind);

/// Oldest version among the trained tokens, if any has one.
bool oldest_trained(const trajectory& what, bool all_turns, uint64_t& version);

/// Summarises a trajectory that was submitted for an item of `kind` in `stage`.
sample_row summarize(const trajectory& what, stage_kind stage, item_kind kind);

} // namespace swage
