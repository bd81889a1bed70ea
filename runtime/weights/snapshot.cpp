#include "runtime/weights/snapshot.hpp"

#include <xxhash.h>

namespace swage {

uint64_t checksum(const std::vector<std::byte>& data) {
  return XXH3_64bits(data.data(), data.size());
}

bool is_whole(const snapshot& weights) {
  return weights.data && weights.data->size() == weights.what.bytes
         && checksum(*weights.data) == weights.what.checksum;
}

} // namespace swage
