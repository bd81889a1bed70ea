#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace swage {

/// The node's one measurement slot: decoding waits while a candidate is
/// timed, briefly. Thread-safe.
class measure_gate {
public:
  /// Enters or leaves a measurement; enters one at a time.
  void measuring(bool begins);

  /// Whether no measurement runs. If one does, `when_free` is called at its
  /// end, by the thread that ends it, unless `leave` comes before.
  bool pass(const void* who, std::function<void()> when_free);

  /// Whether `who` was still waiting; it waits no longer.
  bool leave(const void* who);

  /// Seconds that those who could not pass have waited, added up.
  double paused_s() const;

private:
  struct waiting {
    const void* who;
    std::function<void()> when_free;
    std::chrono::steady_clock::time_point since;
  };

  void count(const waiting& one);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool measuring_ = false;
  std::vector<waiting> waiting_;
  double paused_s_ = 0;
};

/// What one compute thread has done, written by that thread and read by the
/// node's beat: a hung thread stops counting while its process stays alive.
struct progress_counter {
  std::string kind;
  uint32_t actor = 0;
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> busy_ns{0};
  std::atomic<bool> working{false};
};

/// Marks a thread as working from here to the end of the scope.
class busy_scope {
public:
  explicit busy_scope(progress_counter& counter);
  ~busy_scope();
  busy_scope(const busy_scope&) = delete;
  busy_scope& operator=(const busy_scope&) = delete;

private:
  progress_counter& counter_;
  std::chrono::steady_clock::time_point begin_;
};

/// All counters of a node. `add` and `all` are thread-safe.
class progress_board {
public:
  std::shared_ptr<progress_counter> add(std::string kind, uint32_t actor);
  std::vector<std::shared_ptr<const progress_counter>> all() const;

private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<progress_counter>> counters_;
};

} // namespace swage
