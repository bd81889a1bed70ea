#include "runtime/policy/rotary.hpp"

#include <cmath>

namespace swage {

rotary_table::rotary_table(int64_t head_dim, double theta)
  : half_(head_dim / 2) {
  for (int64_t i = 0; i < half_; ++i) {
    float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    frequencies_.push_back(1.0f
                           / std::pow(static_cast<float>(theta), exponent));
  }
}

void rotary_table::grow(int64_t positions) {
  for (; positions_ < positions; ++positions_)
    for (float frequency : frequencies_) {
      float angle = static_cast<float>(positions_) * frequency;
      cosines_.push_back(std::cos(angle));
      sines_.push_back(std::sin(angle));
    }
}

} // namespace swage
