#pragma once

#include "runtime/buffer/grant.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace swage {

/// Where a run is, for people and for whoever watches for stalls.
struct buffer_progress {
  uint32_t stage = 0; ///< Index in the plan; equal to `stages` when over.
  uint32_t stages = 0;
  std::string name; ///< Of the stage; "over" at the end.
  stage_kind kind = stage_kind::eval;
  uint64_t done = 0;  ///< Committed batches, or closed items.
  uint64_t total = 0; ///< The same when the stage ends.
  double rate = 0;    ///< `done` per second since this process began it.
  double left_s = -1; ///< Seconds left at that rate; negative: unknown.
  uint64_t epoch = 0;
  uint64_t last_batch = 0;
  uint64_t last_committed = 0;
  uint32_t open = 0;
  uint32_t leased = 0;
  uint32_t verified = 0;
  uint32_t assigned = 0;
  uint32_t queued = 0; ///< Repairs not drawn yet.
  uint64_t outstanding = 0;
  uint64_t bound = 0; ///< Of `outstanding`; 0 outside RL.
  uint64_t bytes = 0; ///< Of samples that wait.
  uint64_t barren = 0; ///< RL: samples that gave no group since the last batch.
  uint64_t barren_bound = 0;   ///< So many end the run; 0 outside RL.
  std::string barren_outcomes; ///< Such as "98 % compile_error:link, 2 % ok".
  std::map<std::string, uint64_t> discarded; ///< Items of the stage, by reason.
  std::string waiting_for;                   ///< A sentence; empty when over.
  double waiting_s = 0;                      ///< Since anything moved.
  bool stuck = false; ///< Nobody can bring what it waits for.
  bool journal_ok = true;
  bool over = false;
  bool saved = false; ///< A checkpoint holds the newest committed batch.
};

template <class Inspector>
bool inspect(Inspector& f, buffer_progress& x) {
  return f.object(x).fields(
    f.field("stage", x.stage), f.field("stages", x.stages),
    f.field("name", x.name), f.field("kind", x.kind), f.field("done", x.done),
    f.field("total", x.total), f.field("rate", x.rate),
    f.field("left_s", x.left_s), f.field("epoch", x.epoch),
    f.field("last_batch", x.last_batch),
    f.field("last_committed", x.last_committed), f.field("open", x.open),
    f.field("leased", x.leased), f.field("verified", x.verified),
    f.field("assigned", x.assigned), f.field("queued", x.queued),
    f.field("outstanding", x.outstanding), f.field("bound", x.bound),
    f.field("bytes", x.bytes), f.field("barren", x.barren),
    f.field("barren_bound", x.barren_bound),
    f.field("barren_outcomes", x.barren_outcomes),
    f.field("discarded", x.discarded), f.field("waiting_for", x.waiting_for),
    f.field("waiting_s", x.waiting_s),
    f.field("stuck", x.stuck), f.field("journal_ok", x.journal_ok),
    f.field("over", x.over), f.field("saved", x.saved));
}

} // namespace swage
