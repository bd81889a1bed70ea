#include "tools/swage/supervisor.hpp"

#include "runtime/observe/log.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swage {

namespace {

double now_s() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// Blocks the signals that the loop below waits for; restores the mask.
class signal_block {
public:
  signal_block() {
    ::sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
      ::sigaddset(&set_, signal);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }

  ~signal_block() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// The next signal, or 0 after `seconds`; negative: waits without end.
  int wait(double seconds) const {
    timespec limit{
      static_cast<time_t>(seconds),
      static_cast<long>(1e9 * (seconds - static_cast<time_t>(seconds)))};
    auto signal = ::sigtimedwait(&set_, nullptr,
                                 seconds < 0 ? nullptr : &limit);
    return signal < 0 ? 0 : signal;
  }

  const sigset_t& before() const { return before_; }

private:
  sigset_t set_, before_;
};

[[noreturn]] void become_child(const std::vector<std::string>& arguments,
                               pid_t parent, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(3);
  ::signal(SIGINT, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  std::vector<char*> argv;
  for (auto& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(3);
}

/// One child at a time, and what the user asked for.
class supervision {
public:
  /// Starts a child and waits for its end.
  child_end run(const std::vector<std::string>& arguments) {
    auto began = now_s();
    auto parent = ::getpid();
    child_ = ::fork();
    if (child_ == 0)
      become_child(arguments, parent, signals_.before());
    if (child_ < 0) {
      log_error(fmt::format("cannot start the node: {}", std::strerror(errno)));
      return {.value = 3};
    }
    int status = 0;
    while (::waitpid(child_, &status, WNOHANG) == 0)
      on_signal(signals_.wait(-1));
    child_ = 0;
    bool by_signal = WIFSIGNALED(status);
    return {by_signal, by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
            now_s() - began};
  }

  /// Waits; a signal from the user ends it.
  void pause(double seconds) {
    auto until = now_s() + seconds;
    while (!stopping() && now_s() < until)
      on_signal(signals_.wait(until - now_s()));
  }

  bool stopping() const { return requests_ > 0; }

private:
  void on_signal(int signal) {
    if (signal == 0 || signal == SIGCHLD)
      return;
    ++requests_;
    if (child_ > 0)
      ::kill(child_, requests_ == 1 ? SIGTERM : SIGKILL);
    if (requests_ == 1)
      write_stderr("\nswage: stopping after this batch; once more stops at "
                   "once\n");
  }

  signal_block signals_;
  pid_t child_ = 0;
  int requests_ = 0;
};

} // namespace

int supervise(const child_arguments& arguments, restart_policy policy) {
  supervision node;
  for (uint64_t start = 0;; ++start) {
    auto end = node.run(arguments(start));
    auto next = policy.on_end(end, node.stopping());
    auto what = fmt::format(
      "the node {} {} after {:.0f} s",
      end.by_signal ? "was ended by signal" : "failed with exit code",
      end.value, end.lived_s);
    if (!next.restart) {
      if (next.gave_up)
        log_error(fmt::format("{}; gave up after {} restarts in a row "
                              "(faults.max_restarts)",
                              what, policy.restarts()));
      return next.exit_code;
    }
    log_warning(fmt::format(
      "{}; it starts again in {:.0f} s (restart {} of {})", what, next.after_s,
      policy.restarts(), policy.max_restarts()));
    node.pause(next.after_s);
    if (node.stopping())
      return 3;
  }
}

} // namespace swage
