#include "runtime/cluster/wait_reminder.hpp"

#include <algorithm>

namespace swage {

bool wait_reminder::due(double now) {
  if (!since_) {
    since_ = now;
    next_s_ = first_s_;
  }
  if (waited(now) < next_s_)
    return false;
  next_s_ = 2 * std::max(first_s_, waited(now));
  return true;
}

} // namespace swage
