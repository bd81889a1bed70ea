#include "runtime/verify/worker_process.hpp"

#include "runtime/verify/openmp_environment.hpp"
#include "runtime/verify/packet.hpp"
#include "runtime/verify/worker_protocol.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

namespace swage {

namespace {

namespace protocol = worker_protocol;

constexpr double start_timeout_s = 30;
constexpr double launch_timeout_s = 10;
constexpr double end_timeout_s = 1;

bool readable(int fd, double timeout_s) {
  pollfd event{fd, POLLIN, 0};
  int n = 0;
  do
    n = ::poll(&event, 1, static_cast<int>(std::ceil(timeout_s * 1e3)));
  while (n < 0 && errno == EINTR);
  return n > 0;
}

result<std::pair<descriptor, descriptor>> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(ec::infra, fmt::format("socketpair: {}", std::strerror(errno)));
  return std::pair{descriptor{ends[0]}, descriptor{ends[1]}};
}

// By number in our own pid namespace, whatever the worker's is.
pid_t pid_of(int pidfd) {
  std::array<char, 512> text{};
  auto path = fmt::format("/proc/self/fdinfo/{}", pidfd);
  descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file || ::read(file.value(), text.data(), text.size() - 1) <= 0)
    return 0;
  const auto* line = std::strstr(text.data(), "Pid:");
  int pid = 0;
  return line != nullptr && std::sscanf(line, "Pid: %d", &pid) == 1 && pid > 0
           ? pid
           : 0;
}

// A small one: nothing of ours for a candidate to read.
constexpr std::array environment = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                    "LC_ALL=C"};

result<pid_t> spawn(const std::filesystem::path& program, int control) {
  // The one descriptor that the program is to have, at a number it is told.
  constexpr int at = 3;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // A duplicate is open across exec; onto itself, the flag is cleared too.
  ::posix_spawn_file_actions_adddup2(&actions, control, at);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::string path = program;
  std::string mode = "serve", number = std::to_string(at);
  char* argv[] = {path.data(), mode.data(), number.data(), nullptr};
  std::vector<char*> envp;
  for (const auto* entry : environment)
    envp.push_back(const_cast<char*>(entry));
  for (const auto* entry : openmp_environment)
    envp.push_back(const_cast<char*>(entry));
  envp.push_back(nullptr);
  pid_t pid = -1;
  int code = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv,
                           envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0)
    return fail(ec::infra, fmt::format("cannot start the worker '{}': {}; "
                                       "build the target swage-worker",
                                       path, std::strerror(code)));
  return pid;
}

} // namespace

child::child(descriptor pidfd, descriptor session)
  : pidfd_(std::move(pidfd)), session_(std::move(session)),
    pid_(pid_of(pidfd_.value())) {}

void child::kill() {
  if (!status_)
    ::syscall(SYS_pidfd_send_signal, pidfd_.value(), SIGKILL, nullptr, 0);
}

std::optional<int> child::await_end(double timeout_s) {
  if (status_ || !session_)
    return status_;
  protocol::report report{};
  if (readable(session_.value(), timeout_s)
      && receive_packet(session_.value(), &report, sizeof report, {})
           == sizeof report
      && report.what == protocol::event::ended) {
    status_ = report.status;
    cpu_s_ = report.cpu_s;
  }
  session_ = {};
  return status_;
}

worker_process::worker_process(pid_t pid, descriptor control)
  : pid_(pid), control_(std::move(control)) {}

worker_process::~worker_process() {
  // End of file ends it and its candidates; the signal is for one that hangs.
  control_ = {};
  if (pid_ > 0) {
    descriptor pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
    if (!readable(pidfd.value(), end_timeout_s))
      ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
  }
}

result<std::unique_ptr<worker_process>>
worker_process::start(const std::filesystem::path& program) {
  auto ends = socket_pair();
  if (!ends)
    return tl::unexpected(ends.error());
  auto pid = spawn(program, ends->second.value());
  if (!pid)
    return tl::unexpected(pid.error());
  ends->second = {};
  std::unique_ptr<worker_process> self{
    new worker_process{*pid, std::move(ends->first)}};
  protocol::hello hello{};
  if (!readable(self->control_.value(), start_timeout_s)
      || receive_packet(self->control_.value(), &hello, sizeof hello, {})
           != sizeof hello)
    return fail(ec::infra,
                fmt::format("the worker '{}' started but said nothing in {} s",
                            program.string(), start_timeout_s));
  hello.confinement[sizeof hello.confinement - 1] = '\0';
  if (hello.version != protocol::version)
    return fail(ec::infra,
                fmt::format("expected a worker of protocol {}, found {} in "
                            "'{}'; build it anew",
                            protocol::version, hello.version,
                            program.string()));
  if (hello.usable == 0)
    return fail(ec::unsupported,
                fmt::format("candidates cannot be confined here, since seccomp "
                            "filters are refused ({})",
                            hello.confinement));
  self->confinement_ = hello.confinement;
  return self;
}

result<child> worker_process::launch(std::span<const int> fds) {
  auto ends = socket_pair();
  if (!ends)
    return tl::unexpected(ends.error());
  std::vector<int> sent{fds.begin(), fds.end()};
  sent.push_back(ends->second.value());
  protocol::launch request{protocol::version};
  if (!send_packet(control_.value(), &request, sizeof request, sent))
    return fail(ec::infra,
                fmt::format("the worker is gone: {}", std::strerror(errno)));
  ends->second = {};
  protocol::report report{};
  int pidfd = -1;
  if (!readable(ends->first.value(), launch_timeout_s)
      || receive_packet(ends->first.value(), &report, sizeof report,
                        {&pidfd, 1})
           != sizeof report)
    return fail(ec::infra, "the worker does not answer");
  if (report.what != protocol::event::started || pidfd < 0)
    return fail(ec::infra, fmt::format("the worker cannot fork: {}",
                                       std::strerror(report.status)));
  return child{descriptor{pidfd}, std::move(ends->first)};
}

} // namespace swage
