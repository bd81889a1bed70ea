#pragma once

#include "runtime/policy/model_config.hpp"
#include "runtime/policy/rotary.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace swage {

/// Sequences of a micro batch, padded at their ends to one length. Attention
/// is causal, so that padding is never seen by a token.
struct padded_batch {
  int64_t sequences = 0;
  int64_t length = 0;
  std::vector<int64_t> tokens; ///< [sequences, length]
  /// Rows (sequence * length + position) whose next token is predicted, and
  /// that token.
  std::vector<int64_t> rows;
  std::vector<int64_t> targets;
};

/// The differentiable Qwen3 model. All parameters lie in one flat buffer in
/// the order of `parameter_layout`, all gradients in another.
class qwen3_network {
public:
  /// @pre `flat` has as many elements as the layout.
  qwen3_network(const model_config& config, std::span<const float> flat);
  ~qwen3_network();
  qwen3_network(const qwen3_network&) = delete;
  qwen3_network& operator=(const qwen3_network&) = delete;

  const model_config& config() const;
  std::span<float> parameters();
  std::span<float> gradients();

  /// Logits [rows, vocab_size] of the batch's `rows`.
  at::Tensor logits(const padded_batch& batch);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace swage
