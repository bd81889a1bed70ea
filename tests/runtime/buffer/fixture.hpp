#pragma once

#include "runtime/buffer/buffer_core.hpp"
#include "runtime/buffer/memory_journal.hpp"
#include "tests/support/some_tasks.hpp"

#include <memory>
#include <string>
#include <vector>

namespace swage::test {

/// A configuration in which a batch is two groups of two samples.
config small_config(std::vector<std::string> stages = {"rl-single"});

task_sets small_sets();

/// A trajectory of one turn under one version; s >= 1 makes it ok.
trajectory sample(uint64_t item, uint32_t index, double score,
                  uint64_t version = 0);

/// The same with a verdict that is not the policy's fault.
trajectory infra_sample(uint64_t item, uint32_t index);

/// A core over a journal in memory, with one rollout and one learner.
class bench {
public:
  explicit bench(config with = small_config(), task_sets tasks = small_sets());

  /// Another core from what is durable, as after a crash.
  void restart();

  /// Asks for `want` samples; the rollout then holds what it got.
  std::vector<grant> take(uint32_t want, const owner& who = rollout);
  submit_status give(const grant& from, trajectory what,
                     const owner& who = rollout);
  /// Submits all missing samples with these scores, cyclically.
  void finish(const grant& from, std::vector<double> scores,
              uint64_t version = 0);

  uint64_t attach();
  next_reply next(uint64_t after);
  result<void> commit(uint64_t step);
  /// Trains the next batch: asks, commits.
  batch train();

  const item_row& row(uint64_t item) const { return journal->items().at(item); }

  static const owner rollout, other, learner;

  config how;
  task_sets sets;
  std::shared_ptr<memory_journal> journal;
  std::unique_ptr<buffer_core> core;
  std::map<owner, std::vector<uint64_t>> held;
  double now = 0;
  uint64_t epoch = 0;
  uint64_t trained = 0;
};

} // namespace swage::test
