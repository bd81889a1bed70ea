#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

namespace swage {

/// Exit code of a run that stalled, and of a node whose head stays away: what
/// would start it again would wait for the same.
inline constexpr int stalled_exit = 4;

/// How a node's process ends, and when. Thread-safe.
class run_outcome {
public:
  /// The process cannot go on: it ends with `code` (2, 3 or `stalled_exit`).
  /// The first reason counts.
  void fail(int code, std::string reason);

  /// Something failed, but the end is still in order: `finish` follows.
  void note_failure(int code, std::string reason);

  /// The run is over here.
  void finish();

  /// Waits for `finish` or `fail`; returns the exit code.
  int wait();

  bool ended() const;
  int code() const;
  std::string reason() const;

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  int code_ = 0;
  std::string reason_;
};

/// What the learner's thread tells its node. Thread-safe.
class learner_end {
public:
  /// With nothing after a clean end, else with the reason.
  void set(std::optional<std::string> failure);

  bool finished() const;
  std::optional<std::string> failure() const;

private:
  mutable std::mutex mutex_;
  bool ended_ = false;
  std::optional<std::string> failure_;
};

} // namespace swage
