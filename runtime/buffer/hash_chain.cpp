#include "runtime/buffer/hash_chain.hpp"

#include <xxhash.h>

#include <limits>
#include <tuple>
#include <vector>

namespace swage {

namespace {

void append(std::vector<uint8_t>& bytes, uint64_t word) {
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
}

uint64_t hash(const std::vector<uint8_t>& bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace

uint64_t chain_next(uint64_t previous, uint64_t step,
                    std::span<const batch_member> members) {
  std::vector<uint8_t> bytes;
  bytes.reserve(24 + 16 * members.size());
  append(bytes, previous);
  append(bytes, step);
  append(bytes, members.size());
  for (auto& one : members) {
    append(bytes, one.item);
    append(bytes, one.index);
  }
  return hash(bytes);
}

uint64_t chain_void(uint64_t previous, uint64_t step) {
  std::vector<uint8_t> bytes;
  append(bytes, previous);
  append(bytes, step);
  // No batch has so many members: a void one differs from an empty one.
  append(bytes, std::numeric_limits<uint64_t>::max());
  return hash(bytes);
}

bool comes_before(const batch_member& a, const batch_member& b) {
  return std::tie(a.item, a.index) < std::tie(b.item, b.index);
}

} // namespace swage
