#include "runtime/policy/generator.hpp"

#include <xxhash.h>

#include <array>

namespace swage {

uint64_t sample_seed(uint64_t run_seed, uint64_t item, uint32_t index,
                     uint32_t turn) {
  std::array<uint64_t, 4> key = {run_seed, item, index, turn};
  return XXH3_64bits(key.data(), sizeof(key));
}

} // namespace swage
