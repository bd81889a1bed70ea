#pragma once

#include "runtime/learn/trainer.hpp"
#include "runtime/policy/generator.hpp"
#include "runtime/policy/rollout_core.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swage::test {

/// A policy whose weights are one number: the hash of everything that it was
/// trained on, in its order. So two trainers agree exactly if they were trained
/// on the same, and whoever uses weights can be asked which they are.
///
/// A response begins with a token of its own, a function of the sample's seed or
/// of the example's text, so that it is recognised wherever it turns up.

/// The weights that a snapshot holds.
uint64_t weights_of(const snapshot& what);

class chained_generator : public generator {
public:
  /// Responses are 3 to 2 + `longest` tokens long.
  explicit chained_generator(uint32_t longest) : longest_(longest) {}

  /// Told of each load.
  std::function<void(uint64_t version, uint64_t weights)> on_load;

  result<void> submit(sequence_request request) override;
  void cancel(uint64_t id) override { live_.erase(id); }
  std::vector<sequence_output> step() override;
  size_t pending() const override { return live_.size(); }
  result<void> load(const snapshot& weights) override;
  uint64_t version() const override { return version_; }
  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float) override;

private:
  struct sequence {
    sequence_output out;
    uint64_t seed = 0;
    uint32_t length = 0;
  };

  uint32_t longest_;
  uint64_t version_ = 0;
  uint64_t weights_ = 0;
  std::map<uint64_t, sequence> live_;
};

class chained_scorer : public scorer {
public:
  result<void> load(const snapshot& weights) override;
  uint64_t version() const override { return version_; }
  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float) override;

private:
  uint64_t version_ = 0;
  uint64_t weights_ = 0;
};

/// What a trained sample was: its item and its first token.
using trained_key = std::pair<int32_t, int32_t>;

class chained_trainer : public trainer {
public:
  /// Told of each step before it is taken, with the weights that come of it;
  /// false: the process dies in it.
  std::function<bool(const std::vector<trained_key>&, uint64_t weights)>
    on_step;
  /// Told of each snapshot; of each checkpoint that is written (false: the
  /// process dies in it) and read (with the number in the folder's name).
  std::function<void(uint64_t version, uint64_t weights)> on_copy;
  std::function<bool(uint64_t weights)> on_save;
  std::function<void(uint64_t step, uint64_t weights)> on_load;

  result<step_report> step(std::span<const train_sample> samples,
                           const train_options& options) override;
  snapshot copy_weights(uint64_t version) override;
  void set_reference() override {}
  void reset_optimizer() override {}
  result<void> save(const std::filesystem::path& directory) override;
  result<void> load(const std::filesystem::path& directory) override;

private:
  uint64_t weights_ = 0;
};

/// Prompts and texts that go with it.
rollout_tools chained_tools();

} // namespace swage::test
