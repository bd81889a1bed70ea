#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace swage::test {

/// All that a walk leaves to chance, drawn from one seed. The distributions
/// are our own: those of std differ between libraries.
class dice {
public:
  explicit dice(uint64_t seed) : engine_(seed) {}

  /// In [0, 1).
  double uniform() {
    return static_cast<double>(engine_() >> 11) * 0x1p-53;
  }

  bool chance(double p) { return uniform() < p; }
  uint64_t below(uint64_t n) { return engine_() % n; }

  double between(double low, double high) {
    return low + (high - low) * uniform();
  }

  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

private:
  std::mt19937_64 engine_;
};

} // namespace swage::test
