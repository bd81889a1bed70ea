#pragma once

#include "runtime/error.hpp"
#include "runtime/policy/decoder.hpp"
#include "runtime/policy/generator.hpp"

#include <memory>
#include <span>
#include <vector>

namespace swage {

/// Scores sequences by the forward pass that decodes.
class sequence_scorer {
public:
  /// Log-probabilities of each response token at `temperature` (0 means 1).
  /// Fails with `ec::invalid_argument` for an empty prompt, a token outside
  /// the vocabulary, or more tokens than the model has positions.
  result<std::vector<std::vector<float>>>
  score(decoder& model, std::span<const scored_sequence> sequences,
        float temperature);

private:
  std::unique_ptr<kv_cache> cache_;
};

/// `ec::invalid_argument`, naming the token, if one is outside the vocabulary.
result<void> check_tokens(std::span<const int32_t> tokens,
                          const model_config& config);

} // namespace swage
