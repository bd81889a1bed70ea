#include "runtime/verify/content.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <iterator>

namespace swage {

std::string content_of(const std::filesystem::path& file) {
  std::ifstream from{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{from}, {}};
}

std::string content_hash(std::string_view text) {
  auto value = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", value.high64, value.low64);
}

} // namespace swage
