#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/task/task.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace swage {

/// Draws tasks for RL: first a level by its weight, then the next task of that
/// level's shuffled pass, so that none repeats before all had their turn.
class task_source {
public:
  /// `level_weights[l - 1]` is the weight of level l; levels without a weight
  /// or without a task are never drawn. If no weight fits, levels are equal.
  /// @pre `tasks` is not empty and outlives this object.
  task_source(std::span<const task> tasks,
              std::span<const double> level_weights, uint64_t seed);

  /// Index of the task of draw `n`, from 0: a function of `n` and the seed.
  size_t at(uint64_t n);

private:
  struct level {
    double weight = 0;
    std::vector<size_t> tasks;
    uint64_t draws = 0;
    std::vector<uint32_t> order;
  };

  size_t next();

  std::vector<level> levels_;
  uint64_t seed_;
  uint64_t position_ = 0;
  size_t current_ = 0;
};

/// One accepted sample that may be trained on.
struct example {
  uint64_t item = 0;
  uint32_t index = 0;
  uint64_t task = 0;      ///< Hash of the task's id.
  uint64_t text_hash = 0; ///< Equal texts of a task count once.
  bool sampled = false;   ///< From RFT: one per task and epoch.
};

/// Makes SFT batches: epoch after epoch, each a seeded shuffle of all
/// synthesised examples and of one of each task's sampled ones (at most
/// eight different ones are kept per task).
class example_source {
public:
  example_source(std::vector<example> pool, uint64_t seed);

  /// Examples per epoch.
  size_t size() const { return per_epoch_; }

  /// The members of batch `number` (from 0) of `count` examples, sorted; a
  /// function of both. Empty if there is no example.
  std::vector<batch_member> batch(uint64_t number, uint32_t count);

private:
  void make_epoch(uint64_t epoch);

  std::vector<example> always_;
  std::vector<std::vector<example>> by_task_;
  uint64_t seed_;
  size_t per_epoch_ = 0;
  uint64_t epoch_ = ~uint64_t{0};
  std::vector<batch_member> order_;
};

} // namespace swage
