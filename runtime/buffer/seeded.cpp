#include "runtime/buffer/seeded.hpp"

#include <xxhash.h>

#include <numeric>
#include <utility>

namespace swage {

uint64_t mix(std::initializer_list<uint64_t> words) {
  return XXH3_64bits(words.begin(), words.size() * sizeof(uint64_t));
}

double uniform(uint64_t seed) {
  return static_cast<double>(seed >> 11) * 0x1.0p-53;
}

std::vector<uint32_t> shuffled(uint64_t seed, uint32_t n) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = n; i > 1; --i) {
    // The bias of the remainder is below 2^-32 here.
    auto j = static_cast<uint32_t>(mix({seed, i}) % i);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

} // namespace swage
