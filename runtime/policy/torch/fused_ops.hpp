#pragma once

#include "runtime/policy/rotary.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

/// Differentiable operations that run as one pass over memory instead of many.
/// All tensors are float32 on the CPU.
namespace swage::fused {

/// x [rows, size], weight [size]: w * x / sqrt(mean x^2 + eps).
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// How rows of projected queries, keys and values are laid out.
struct heads {
  int64_t queries = 0; ///< Heads.
  int64_t keys = 0;    ///< Heads of keys, and as many of values.
  int64_t dim = 0;
  int64_t length = 0; ///< Row r stands at position r % length.
  double eps = 1e-6;
  const rotary_table* rotary = nullptr; ///< Outlives the backward pass.
};

/// Splits qkv [rows, (queries + 2 keys) dim] into queries, keys and values
/// [rows, heads, dim]; queries and keys are normalised per head and rotated.
std::array<at::Tensor, 3> split_heads(const at::Tensor& qkv,
                                      const at::Tensor& query_weight,
                                      const at::Tensor& key_weight,
                                      const heads& layout);

/// Causal attention of each sequence: queries [rows, heads, dim] over keys and
/// values [rows, key heads, dim] -> [rows, heads * dim].
at::Tensor attention(const std::array<at::Tensor, 3>& qkv, int64_t length);

/// x [rows, inputs] times the transpose of weight [outputs, inputs], plus
/// `base` [rows, outputs].
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                  const at::Tensor& base);
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight);

/// x [rows, 2 size]: silu(x[:, :size]) * x[:, size:].
at::Tensor gated_unit(const at::Tensor& x);

/// Log-probabilities [rows] of one target a row under
/// softmax(logits / temperature), and the entropies of the rows as numbers.
at::Tensor target_logprobs(const at::Tensor& logits,
                           const std::vector<int64_t>& targets,
                           float temperature, std::vector<float>& entropies);

} // namespace swage::fused
