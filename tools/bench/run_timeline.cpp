#include "tools/bench/run_timeline.hpp"

#include <algorithm>

namespace swage::bench {

const char* to_string(work value) {
  constexpr std::array<const char*, num_works> names{
    "decode", "rescore", "verify", "build", "run", "measure", "score", "train"};
  return names[static_cast<size_t>(value)];
}

void run_timeline::add(work what, time begin, time end) {
  std::lock_guard lock{mutex_};
  entries_.push_back({what, begin, end});
}

work_seconds run_timeline::busy_s(time begin, time end) const {
  work_seconds out{};
  std::lock_guard lock{mutex_};
  for (auto& one : entries_) {
    auto inside = std::min(one.end, end) - std::max(one.begin, begin);
    if (inside.count() > 0)
      out[static_cast<size_t>(one.what)]
        += std::chrono::duration<double>(inside).count();
  }
  return out;
}

} // namespace swage::bench
