#pragma once

#include <cstdint>

namespace swage {

/// How a child process ended.
struct child_end {
  bool by_signal = false;
  int value = 0;      ///< Exit code, or number of the signal.
  double lived_s = 0; ///< From its start to its end.
};

/// What its parent does about it.
struct restart_decision {
  bool restart = false;
  double after_s = 0; ///< To wait before the restart.
  int exit_code = 0;  ///< Of the parent, if it does not restart.
  bool gave_up = false; ///< It would, were there restarts left.
};

/// Decides whether a node that ended is started again: after a signal or exit
/// code 3 it is, with a back-off that doubles from `first_wait_s` to 60 s, at
/// most `max_restarts` times in a row. A child that lived twice as long as a
/// thread may hang begins a new row. Exit codes 0, 1, 2 and 4 (the run stalled)
/// are final.
class restart_policy {
public:
  restart_policy(uint32_t max_restarts, double stall_timeout_s,
                 double first_wait_s = 1);

  /// `stopping`: the user asked for the end, so nothing is restarted.
  restart_decision on_end(const child_end& end, bool stopping);

  uint32_t restarts() const { return restarts_; }
  uint32_t max_restarts() const { return max_restarts_; }

private:
  uint32_t max_restarts_;
  double settled_s_, first_wait_s_;
  uint32_t restarts_ = 0;
};

} // namespace swage
