#pragma once

#include "runtime/learn/trainer.hpp"
#include "runtime/policy/generator.hpp"
#include "tools/bench/decode_gate.hpp"
#include "tools/bench/run_timeline.hpp"

#include <cstdint>
#include <functional>
#include <memory>

/// The parts of a real policy, watched: each does what the part inside does,
/// and notes when.
namespace swage::bench {

class watched_generator : public generator {
public:
  watched_generator(std::shared_ptr<generator> inside, run_timeline& times,
                    decode_gate& gate)
    : inside_(std::move(inside)), times_(times), gate_(gate) {}

  result<void> submit(sequence_request request) override;
  void cancel(uint64_t id) override;
  std::vector<sequence_output> step() override;
  size_t pending() const override { return inside_->pending(); }
  result<void> load(const snapshot& weights) override;
  uint64_t version() const override { return inside_->version(); }
  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float temperature) override;

private:
  void look();

  std::shared_ptr<generator> inside_;
  run_timeline& times_;
  decode_gate& gate_;
};

/// `trained(kept)` is called after each step.
class watched_trainer : public trainer {
public:
  watched_trainer(std::shared_ptr<trainer> inside, run_timeline& times,
                  std::function<void(uint64_t kept)> trained)
    : inside_(std::move(inside)), times_(times), trained_(std::move(trained)) {}

  result<step_report> step(std::span<const train_sample> samples,
                           const train_options& options) override;
  snapshot copy_weights(uint64_t version) override;
  void set_reference() override { inside_->set_reference(); }
  void reset_optimizer() override { inside_->reset_optimizer(); }
  result<void> save(const std::filesystem::path& directory) override;
  result<void> load(const std::filesystem::path& directory) override;

private:
  std::shared_ptr<trainer> inside_;
  run_timeline& times_;
  std::function<void(uint64_t)> trained_;
};

class watched_scorer : public scorer {
public:
  watched_scorer(std::shared_ptr<scorer> inside, run_timeline& times)
    : inside_(std::move(inside)), times_(times) {}

  result<void> load(const snapshot& weights) override;
  uint64_t version() const override { return inside_->version(); }
  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float temperature) override;

private:
  std::shared_ptr<scorer> inside_;
  run_timeline& times_;
};

} // namespace swage::bench
