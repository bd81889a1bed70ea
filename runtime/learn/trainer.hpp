#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/error.hpp"
#include "runtime/policy/generator.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace swage {

/// One response as the trainer sees it.
struct train_sample {
  std::vector<int32_t> prompt;
  std::vector<int32_t> response;
  std::vector<float> behaviour; ///< log mu per response token; empty for SFT.
  double advantage = 1;         ///< A of Eq. 3; unused by SFT.
  bool kept = true;             ///< M of Eq. 17.
  /// Tokens are averaged over the samples of one group, then groups are, as in
  /// Eq. 5 and 17. Examples are all of one group, and so is a batch whose
  /// tokens count alike.
  uint64_t group = 0;
  /// One per response token, of IcePop or TIS; empty: none. They hold how far
  /// the policy has drifted, so that rho of Eq. 4 is taken to the policy that
  /// the step begins with. A token of weight 0 has no influence at all.
  std::vector<float> weights;
  /// Written by the policy that the step begins with, so that what its
  /// log-probabilities differ by is the edge's numerical floor.
  bool on_policy = false;
};

enum class objective : uint8_t { sft, grpo };

/// Everything that one optimizer step depends on beside the samples.
struct train_options {
  objective what = objective::grpo;
  double lr = 1e-4;
  double weight_decay = 0; ///< AdamW's; norms and embeddings never decay.
  double clip_low = 0.2;
  double clip_high = 0.28;
  double kl_coefficient = 0; ///< beta of Eq. 5, against the reference policy.
  double grad_clip = 0.5;    ///< Bound on the gradient's norm.
  float temperature = 1;     ///< The sampling temperature, on both sides.
  bool denominator_all = false; ///< false: kept tokens (published), true: all.
  // Keeps a layer's activations in a CPU's caches: 1.19 s a step of the
  // quickstart at 2048 tokens, 1.35 s at 8192.
  uint32_t micro_batch_tokens = 2048;
  int threads = 0; ///< Of LibTorch; 0: one per core.
};

/// Owns the parameters and the optimizer. Not thread-safe: one actor owns it.
class trainer {
public:
  virtual ~trainer() = default;

  /// One optimizer step over all samples (in micro batches). With no sample
  /// kept, nothing changes and `stepped` is false.
  virtual result<step_report> step(std::span<const train_sample> samples,
                                   const train_options& options) = 0;

  /// Copies the parameters into an immutable snapshot named `version`.
  virtual snapshot copy_weights(uint64_t version) = 0;

  /// Makes the present parameters the reference policy of the KL term.
  virtual void set_reference() = 0;

  /// Forgets the optimizer's moments (a stage begins).
  virtual void reset_optimizer() = 0;

  /// Writes model (`config.json`, `model.safetensors`, `tokenizer.json`) and
  /// optimizer state into an existing directory.
  virtual result<void> save(const std::filesystem::path& directory) = 0;
  virtual result<void> load(const std::filesystem::path& directory) = 0;
};

/// Scores sequences under a snapshot: the mirror's half of the policy.
class scorer {
public:
  virtual ~scorer() = default;
  virtual result<void> load(const snapshot& weights) = 0;
  virtual uint64_t version() const = 0;
  /// Log-probabilities of each response token at `temperature`.
  virtual result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float temperature) = 0;
};

} // namespace swage
