#pragma once

#include "runtime/config/config.hpp"
#include "runtime/task/task_sets.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage::test {

/// How actors are spread over processes.
enum class layout : uint8_t {
  alone,      ///< One process does everything.
  worker,     ///< The head trains, a worker writes and judges.
  apart,      ///< Head, trainer and worker have one thing to do each.
  two_workers,///< As `apart`; two workers share, the trainer judges too.
  mixed,      ///< Head and worker both do everything but training.
};

constexpr uint32_t num_layouts = 5;

/// What goes wrong in a walk, and how often.
struct fault_rates {
  double lost = 0, twice = 0, late = 0; ///< Shares of the messages.
  uint32_t blows = 0;    ///< Deaths, cuts, pauses and full disks, in all.
  double blow_gap_s = 4; ///< Mean time between two of them.
  double slow_slot = 0;  ///< Share of verdicts that take too long.
  double slow_disk = 0;  ///< Share of the buffer's messages that stall,
  double slow_actor = 0; ///< and of everybody else's.
  double infra = 0;      ///< Share of verdicts that say nothing.
  uint64_t deadly = 0;   ///< The batch that kills whoever trains it; 0: none.
  bool calm_end = true;  ///< Nothing goes wrong once all stages are over.

  bool any() const {
    return lost + twice + late + slow_slot + slow_disk + slow_actor + infra > 0
           || blows > 0 || deadly > 0;
  }
};

/// Everything that a walk is made of but its draws.
struct topology_plan {
  uint64_t seed = 1;
  layout where = layout::alone;
  uint32_t rollouts = 1, verifiers = 1;
  config settings; ///< `cluster.nodes` names the processes.
  task_sets tasks;
  fault_rates faults;
  bool database = false; ///< A real `run.db` and not a journal in memory.
};

/// A run of all stages on this many actors in which nothing goes wrong.
topology_plan quiet_plan(layout where, uint32_t rollouts, uint32_t verifiers);

/// The n-th walk: layout, counts, knobs and faults from the seed.
topology_plan nth_plan(uint64_t seed);

} // namespace swage::test
