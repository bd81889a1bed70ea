#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <vector>

namespace swage::bench {

/// Knows whether a rollout decodes, and makes verification wait for the end of
/// that: so lock-step has one phase at a time. Thread-safe.
class decode_gate {
public:
  /// A sequence was queued; a phase begins unless one is on.
  void begin();
  /// Nothing is left to decode.
  void end();

  /// Returns when nothing is decoded; at once if `stop` was requested.
  void pass(const std::stop_token& stop);

  /// Lengths of the phases that have ended.
  std::vector<double> phases_s() const;

private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool decoding_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::vector<double> phases_s_;
};

} // namespace swage::bench
