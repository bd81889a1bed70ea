#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace swage {

/// Seeded draws that are the same on every machine: the standard fixes the
/// engine's numbers and leaves its distributions to each library.
class draw {
public:
  explicit draw(uint64_t seed) : engine_{seed} {
    // nop
  }

  /// Uniform in [0, 1), with 53 bits.
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  bool chance(double probability) { return unit() < probability; }

  /// Uniform in [low, high]. The bias of the modulus is below 2^-40 for the
  /// small ranges that are drawn here.
  int64_t between(int64_t low, int64_t high) {
    auto width = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int64_t>(engine_() % width);
  }

  /// An element of a list that is not empty.
  template <class List>
  auto& pick(const List& list) {
    auto last = static_cast<int64_t>(std::size(list)) - 1;
    return std::data(list)[between(0, last)];
  }

  /// An index drawn with probability proportional to its weight.
  size_t weighted(std::span<const double> weights) {
    double total = 0;
    for (auto weight : weights)
      total += weight;
    auto at = unit() * total;
    for (size_t i = 0; i + 1 < weights.size(); ++i) {
      at -= weights[i];
      if (at < 0)
        return i;
    }
    return weights.size() - 1;
  }

private:
  std::mt19937_64 engine_;
};

} // namespace swage
