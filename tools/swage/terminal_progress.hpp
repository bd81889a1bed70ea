#pragma once

#include "runtime/observe/progress.hpp"

#include <cstddef>
#include <string>

namespace swage {

/// The progress of one piece of work of this process, on stderr.
class terminal_progress {
public:
  terminal_progress(std::string stage, std::string unit);
  ~terminal_progress();
  terminal_progress(const terminal_progress&) = delete;
  terminal_progress& operator=(const terminal_progress&) = delete;

  /// @param cached Of `done`, what a cache answered.
  void update(size_t done, size_t total, std::string note = "",
              size_t cached = 0);

private:
  std::string stage_, unit_;
  bool terminal_;
  progress lines_;
};

} // namespace swage
