#include "runtime/policy/adamw.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace swage {

adamw::adamw(const adamw_options& options, std::vector<adamw_segment> segments)
  : options_(options), segments_(std::move(segments)) {
  size_t size = segments_.empty() ? 0 : segments_.back().end;
  first.resize(size);
  second.resize(size);
}

void adamw::step(std::span<float> parameters, std::span<const float> gradients,
                 const adamw_rate& how) {
  ++steps;
  auto t = static_cast<double>(steps);
  auto b1 = static_cast<float>(options_.beta1);
  auto b2 = static_cast<float>(options_.beta2);
  auto rate = static_cast<float>(how.lr / (1 - std::pow(options_.beta1, t)));
  auto correction = static_cast<float>(
    1 / std::sqrt(1 - std::pow(options_.beta2, t)));
  auto eps = static_cast<float>(options_.epsilon);
  auto factor = static_cast<float>(how.scale);
  for (auto& [begin, end, decays] : segments_) {
    auto keep = static_cast<float>(decays ? 1 - how.lr * how.weight_decay : 1.0);
    for (size_t i = begin; i < end; ++i) {
      float g = gradients[i] * factor;
      first[i] = b1 * first[i] + (1 - b1) * g;
      second[i] = b2 * second[i] + (1 - b2) * g * g;
      parameters[i] = parameters[i] * keep
                      - rate * first[i]
                          / (std::sqrt(second[i]) * correction + eps);
    }
  }
}

void adamw::reset() {
  steps = 0;
  std::fill(first.begin(), first.end(), 0.0f);
  std::fill(second.begin(), second.end(), 0.0f);
}

} // namespace swage
