#pragma once

#include <optional>

namespace swage {

/// Tells when a wait is worth another word: after `first_s`, then each time
/// that it has doubled. `now` is in seconds of any monotonic clock.
class wait_reminder {
public:
  explicit wait_reminder(double first_s) : first_s_(first_s) {}

  /// Whether to say something; the first call begins the wait.
  bool due(double now);

  /// How long it has waited.
  double waited(double now) const { return since_ ? now - *since_ : 0; }

  /// The wait is over.
  void reset() { since_.reset(); }

private:
  double first_s_;
  double next_s_ = 0;
  std::optional<double> since_;
};

} // namespace swage
