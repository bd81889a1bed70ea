#pragma once

#include <string>

namespace swage {

/// What a child writes to its standard output and error: kept in memory, out of
/// the user's terminal, for the message that tells how the child ended.
class last_words {
public:
  last_words();
  ~last_words();
  last_words(const last_words&) = delete;
  last_words& operator=(const last_words&) = delete;

  /// For the child; -1 where the system has no memory files.
  int fd() const { return fd_; }

  /// The last line or two, on one line and short; empty if there is nothing.
  std::string text() const;

  /// Forgets what was written if that is much.
  void trim();

private:
  int fd_ = -1;
};

} // namespace swage
