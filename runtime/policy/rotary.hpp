#pragma once

#include <cstdint>
#include <vector>

namespace swage {

/// Cosines and sines of rotary position embedding, row-major
/// [positions, head_dim / 2], angle(p, i) = p / theta^(2 i / head_dim).
/// Computed in float32 as the Hugging Face implementation does, so that far
/// positions get the angles that a checkpoint was trained with.
class rotary_table {
public:
  rotary_table(int64_t head_dim, double theta);

  /// Makes the table hold at least `positions` rows.
  void grow(int64_t positions);

  int64_t positions() const { return positions_; }
  const float* cosines(int64_t position) const {
    return cosines_.data() + position * half_;
  }
  const float* sines(int64_t position) const {
    return sines_.data() + position * half_;
  }

private:
  int64_t half_;
  int64_t positions_ = 0;
  std::vector<float> frequencies_;
  std::vector<float> cosines_;
  std::vector<float> sines_;
};

} // namespace swage
