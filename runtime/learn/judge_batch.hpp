#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/error.hpp"
#include "runtime/learn/sequence_mask.hpp"
#include "runtime/learn/trainer.hpp"

#include <span>
#include <vector>

namespace swage {

/// Log-probabilities of one sample's trained tokens, turn after turn.
struct scored_tokens {
  std::vector<float> current;   ///< Under the policy that learns.
  std::vector<float> behaviour; ///< Under the policy that wrote.
};

/// Scores the trained tokens of every sample under `model`.
result<std::vector<scored_tokens>> score_batch(const judged_batch& what,
                                               scorer& model,
                                               float temperature);

/// One judgement per sample, parallel to `scored`: whether it is kept, the
/// weights of its tokens where the rule gives any, how stale it is. `floor`
/// is noted with each.
std::vector<judgement> judge_batch(const judged_batch& what,
                                   std::span<const scored_tokens> scored,
                                   const mask_rule& rule, double floor);

} // namespace swage
