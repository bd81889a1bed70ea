#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace swage {

struct adamw_options {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
};

/// What a step may change.
struct adamw_rate {
  double lr = 0;
  double weight_decay = 0;
  double scale = 1; ///< Of the gradients: what clipping makes of it.
};

/// A run of the flat buffer, and whether weight decay applies to it.
struct adamw_segment {
  size_t begin = 0;
  size_t end = 0;
  bool decays = true;
};

/// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization") over
/// one flat buffer of parameters:
///   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
///   p = p (1 - lr wd) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
class adamw {
public:
  adamw(const adamw_options& options, std::vector<adamw_segment> segments);

  void step(std::span<float> parameters, std::span<const float> gradients,
            const adamw_rate& rate);

  /// Forgets the moments and the number of steps.
  void reset();

  uint64_t steps = 0;
  std::vector<float> first;  ///< m
  std::vector<float> second; ///< v

private:
  adamw_options options_;
  std::vector<adamw_segment> segments_;
};

} // namespace swage
