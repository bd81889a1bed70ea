#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace swage::bench {

/// What an actor's thread is busy with. `build`, `run` and `measure` are parts
/// of `verify`.
enum class work : uint8_t {
  decode,
  rescore,
  verify,
  build,
  run,
  measure,
  score,
  train,
};

inline constexpr size_t num_works = 8;

const char* to_string(work value);

/// Busy seconds by kind of work.
using work_seconds = std::array<double, num_works>;

/// Who was busy when. Thread-safe.
class run_timeline {
public:
  using time = std::chrono::steady_clock::time_point;

  void add(work what, time begin, time end);

  /// Seconds within [begin, end), added up over the threads.
  work_seconds busy_s(time begin, time end) const;

private:
  struct entry {
    work what;
    time begin, end;
  };

  mutable std::mutex mutex_;
  std::vector<entry> entries_;
};

/// Adds the time from here to the end of the scope.
class timed_scope {
public:
  timed_scope(run_timeline& into, work what)
    : into_(into), what_(what), begin_(std::chrono::steady_clock::now()) {}
  ~timed_scope() { into_.add(what_, begin_, std::chrono::steady_clock::now()); }
  timed_scope(const timed_scope&) = delete;
  timed_scope& operator=(const timed_scope&) = delete;

private:
  run_timeline& into_;
  work what_;
  run_timeline::time begin_;
};

} // namespace swage::bench
