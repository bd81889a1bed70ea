#pragma once

#include <cstdint>
#include <span>

namespace swage {

/// A sampled token and its log-probability over the untruncated distribution
/// at the sampling temperature.
struct token_draw {
  int32_t token = 0;
  float logprob = 0;
};

/// How one token is drawn. Temperature 0 is greedy, and its log-probability
/// is that of temperature 1.
struct draw_options {
  float temperature = 1;
  float top_p = 1;       ///< Of the smallest set of tokens with that mass.
  uint64_t seed = 0;     ///< Of the sequence.
  uint64_t position = 0; ///< Of the token in its response.
};

/// Draws a token. The result depends on nothing but the arguments.
token_draw draw_token(std::span<const float> logits,
                      const draw_options& options);

/// Log-probability of `token`: log softmax(logits / temperature)[token].
float log_probability(std::span<const float> logits, int32_t token,
                      float temperature);

} // namespace swage
