#include "runtime/verify/packet.hpp"
#include "runtime/verify/sandbox.hpp"
#include "runtime/verify/worker_protocol.hpp"
#include "tools/worker/descriptors.hpp"
#include "tools/worker/worker.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <unordered_map>

namespace protocol = swage::worker_protocol;

namespace {

/// Sessions by their process.
using sessions = std::unordered_map<pid_t, int>;

sigset_t child_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

struct job {
  int artifact, inputs, data, control, session;
};

[[noreturn]] void become_candidate(job what, pid_t parent) {
  auto signals = child_signal();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(3);
  ::dup2(0, 2); // What a candidate prints is nobody's business.
  std::array kept = {what.artifact, what.inputs, what.data, what.control};
  close_all_but(kept);
  swage_sandbox_serve(what.artifact, what.inputs, what.data, what.control);
}

void refuse(int session, int reason) {
  protocol::report report{protocol::event::refused, reason, 0};
  swage::send_packet(session, &report, sizeof report);
  ::close(session);
}

void launch(job what, sessions& running) {
  auto self = ::getpid();
  auto pid = ::fork();
  if (pid == 0)
    become_candidate(what, self);
  auto reason = errno;
  for (int fd : {what.artifact, what.inputs, what.data, what.control})
    ::close(fd);
  if (pid < 0)
    return refuse(what.session, reason);
  int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  protocol::report report{protocol::event::started, 0, 0};
  if (pidfd < 0
      || !swage::send_packet(what.session, &report, sizeof report, {&pidfd, 1}))
    ::kill(pid, SIGKILL);
  if (pidfd >= 0)
    ::close(pidfd);
  running[pid] = what.session;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec)
         + static_cast<double>(time.tv_usec) * 1e-6;
}

void reap(sessions& running) {
  for (;;) {
    int status = 0;
    rusage used{};
    auto pid = ::wait4(-1, &status, WNOHANG, &used);
    if (pid <= 0)
      return;
    auto found = running.find(pid);
    if (found == running.end())
      continue;
    protocol::report report{protocol::event::ended, status,
                            seconds(used.ru_utime) + seconds(used.ru_stime)};
    swage::send_packet(found->second, &report, sizeof report);
    ::close(found->second);
    running.erase(found);
    char path[64]; // Where the sandbox placed its artifact, in our own root.
    std::snprintf(path, sizeof path, "/tmp/%d.so", static_cast<int>(pid));
    ::unlink(path);
  }
}

// False when the runner is gone.
bool read_request(int control, sessions& running) {
  protocol::launch request{};
  std::array<int, protocol::launch_descriptors> fds{};
  auto n = swage::receive_packet(control, &request, sizeof request, fds);
  if (n != sizeof request || request.version != protocol::version)
    return false;
  if (fds.back() < 0) {
    for (int fd : fds)
      if (fd >= 0)
        ::close(fd);
    return true;
  }
  launch({fds[0], fds[1], fds[2], fds[3], fds[4]}, running);
  return true;
}

int serve_requests(int control, const protocol::hello& hello) {
  auto signals = child_signal();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  int children = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (children < 0 || !swage::send_packet(control, &hello, sizeof hello))
    return 3;
  sessions running;
  for (;;) {
    std::array<pollfd, 2> events = {pollfd{control, POLLIN, 0},
                                    pollfd{children, POLLIN, 0}};
    if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR)
      return 3;
    if (events[1].revents != 0) {
      signalfd_siginfo info;
      while (::read(children, &info, sizeof info) > 0) {}
      reap(running);
    }
    if (events[0].revents != 0 && !read_request(control, running))
      break;
  }
  // As the first process of its namespace, its end is that of all others.
  for (auto [pid, session] : running)
    ::kill(pid, SIGKILL);
  return 0;
}

} // namespace

int serve(int control) {
  std::array kept = {control};
  close_all_but(kept);
  if (!silence(0) || !silence(1))
    return 3;
  protocol::hello hello{};
  hello.version = protocol::version;
  hello.usable = swage_sandbox_prepare() == 0 ? 1 : 0;
  swage_sandbox_view view{nullptr, 0, 1};
  if (swage_sandbox_isolate(&view, hello.confinement, sizeof hello.confinement)
      != 0)
    hello.usable = 0;
  // The fork is the first process of the new pid namespace.
  auto parent = ::getpid();
  auto pid = ::fork();
  if (pid < 0)
    return 3;
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent && ::getppid() != 0)
      ::_exit(3);
    ::_exit(serve_requests(control, hello));
  }
  ::close(control);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
