#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace swage::test {

/// What happened in a walk, for whoever replays it: every event that somebody
/// decided on, and the newest messages.
class walk_trace {
public:
  /// Keeps all messages and not only the newest ones.
  bool whole = false;

  void event(double now, std::string text);
  void message(double now, std::string text);

  /// Both kinds in their order, one a line, with the time.
  std::string text() const;

private:
  struct line {
    uint64_t number = 0;
    double now = 0;
    std::string text;
  };

  static constexpr size_t newest = 150;

  std::vector<line> events_;
  std::deque<line> messages_;
  uint64_t last_ = 0;
};

} // namespace swage::test
