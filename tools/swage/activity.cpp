#include "tools/swage/activity.hpp"

#include "runtime/observe/log.hpp"
#include "runtime/observe/progress.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace swage {

namespace {

constexpr const char* erase_line = "\r\x1b[K";

} // namespace

activity::activity(std::string what, std::chrono::milliseconds patience)
  : terminal_{stderr_is_terminal()}, patience_{patience} {
  now(std::move(what));
  if (terminal_)
    return;
  // A signal is for the threads that were there.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[this] { watch(); }};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

activity::~activity() {
  if (terminal_) {
    write_stderr(erase_line);
    return;
  }
  {
    std::lock_guard lock{mutex_};
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void activity::now(std::string what) {
  if (terminal_) {
    write_stderr(fmt::format("{}{} ...", erase_line, what), true);
    return;
  }
  {
    std::lock_guard lock{mutex_};
    what_ = std::move(what);
    ++count_;
  }
  changed_.notify_one();
}

void activity::watch() {
  std::unique_lock lock{mutex_};
  while (!over_) {
    auto seen = count_;
    auto moved = [&] { return over_ || count_ != seen; };
    if (changed_.wait_for(lock, patience_, moved))
      continue;
    write_stderr(fmt::format("swage: {} ...\n", what_));
    changed_.wait(lock, moved);
  }
}

} // namespace swage
