#pragma once

#include "runtime/error.hpp"

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace swage {

/// Cores that this thread may run on.
std::vector<int> usable_cores();

/// The one measurement that runs on this machine: a lock on a file, which the
/// system releases if its holder dies. While it is held the calling thread is
/// pinned to `cores`, and first in line there where that is permitted; both
/// end with the object, on the thread that began it.
class measure_slot {
public:
  /// Waits for the lock, at most `timeout_s`: `ec::timeout`, `ec::cancelled`
  /// or `ec::io`.
  static result<std::unique_ptr<measure_slot>>
  take(const std::filesystem::path& lock, std::span<const int> cores,
       double timeout_s, const std::stop_token& stop);

  ~measure_slot();

  /// Gives all threads of a measured process the same cores and rank. False if
  /// one could not be pinned.
  bool admit(pid_t process) const;

  /// Whether the measured may go first, or have to take their turn.
  bool raised() const { return raised_; }

private:
  measure_slot(int fd, std::span<const int> cores);

  int fd_ = -1;
  std::vector<int> cores_, former_cores_;
  int former_nice_ = 0;
  bool raised_ = false;
};

} // namespace swage
