#include "runtime/buffer/trajectory.hpp"

#include <algorithm>
#include <limits>

namespace swage {

uint64_t trajectory::oldest_version() const {
  auto oldest = std::numeric_limits<uint64_t>::max();
  for (auto& one : turns)
    for (auto& run : one.versions)
      oldest = std::min(oldest, run.version);
  return oldest == std::numeric_limits<uint64_t>::max() ? 0 : oldest;
}

uint64_t trajectory::newest_version() const {
  uint64_t newest = 0;
  for (auto& one : turns)
    for (auto& run : one.versions)
      newest = std::max(newest, run.version);
  return newest;
}

size_t trajectory::bytes() const {
  size_t n = sizeof(*this);
  for (auto& one : turns)
    n += sizeof(one) + one.prompt.size() * sizeof(int32_t)
         + one.response.size() * (sizeof(int32_t) + sizeof(float))
         + one.versions.size() * sizeof(version_run) + one.text.size()
         + one.feedback.size() + one.outcome.detail.size();
  return n;
}

} // namespace swage
