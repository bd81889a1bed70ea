#pragma once

#include "runtime/error.hpp"
#include "runtime/learn/trainer.hpp"
#include "runtime/policy/torch/gloo_collective.hpp"
#include "runtime/policy/torch_policy.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace swage {

/// The trainer on LibTorch, which is visible in its .cpp files only.
class torch_trainer : public trainer {
public:
  /// `others` joins it to the other ranks of a learner; null: there are none.
  static result<std::unique_ptr<torch_trainer>>
  open(const std::filesystem::path& directory, const optimizer_options& options,
       uint64_t seed, std::unique_ptr<gloo_collective> others = {});

  ~torch_trainer() override;

  result<step_report> step(std::span<const train_sample> samples,
                           const train_options& options) override;
  snapshot copy_weights(uint64_t version) override;
  void set_reference() override;
  void reset_optimizer() override;
  result<void> save(const std::filesystem::path& directory) override;
  result<void> load(const std::filesystem::path& directory) override;

  /// Log-probabilities of each response token by the forward pass that
  /// trains: what the floor between rollout and learner is measured with.
  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float temperature);

  /// The gradient of the last step, of all ranks and before clipping, in the
  /// order of `parameter_layout`.
  std::span<const float> gradients() const;

private:
  torch_trainer();
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace swage
