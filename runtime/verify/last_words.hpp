#pragma once

#include "runtime/descriptor.hpp"

#include <string>

namespace swage {

/// What a child writes to its standard output and error: kept in memory, out of
/// the user's terminal, for the message that tells how the child ended.
class last_words {
public:
  last_words();

  /// For the child; -1 where the system has no memory files.
  int fd() const { return file_.value(); }

  /// The last line or two, on one line and short; empty if there is nothing.
  std::string text() const;

  /// The last line alone, where a traceback says what was wrong.
  std::string last_line() const;

  /// Forgets what was written if that is much.
  void trim();

private:
  std::string lines() const;

  descriptor file_;
};

} // namespace swage
