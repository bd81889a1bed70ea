#include "runtime/verify/compile_process.hpp"

#include "runtime/verify/worker_process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>

namespace swage {

namespace {

using steady = std::chrono::steady_clock;

constexpr size_t max_errors = 64 * 1024;
constexpr size_t max_output = size_t{256} << 20;
constexpr int output_fd = 3;
constexpr int stop_poll_ms = 50;

struct files {
  descriptor source, output, errors;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(fd, text.data(), text.size());
    if (n <= 0)
      return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return ::lseek(fd, 0, SEEK_SET) == 0;
}

std::string read_file(int fd, size_t limit) {
  auto size = ::lseek(fd, 0, SEEK_END);
  std::string text(
    std::min(limit, static_cast<size_t>(std::max<off_t>(0, size))), '\0');
  size_t done = 0;
  while (done < text.size()) {
    auto n = ::pread(fd, text.data() + done, text.size() - done,
                     static_cast<off_t>(done));
    if (n <= 0)
      break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts)
    list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> arguments(const compile_request& what) {
  auto cpu_s = std::max(1L, std::lround(std::ceil(what.timeout_s)));
  std::vector<std::string> list = {
    what.worker.string(), "compile", std::to_string(cpu_s),
    std::to_string(what.memory_bytes), std::to_string(output_fd)};
  list.insert(list.end(), what.visible.begin(), what.visible.end());
  list.emplace_back("--");
  list.insert(list.end(), what.command.begin(), what.command.end());
  return list;
}

result<pid_t> spawn(const compile_request& what, const files& io) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, io.source.value(), 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, io.errors.value(), 2);
  ::posix_spawn_file_actions_adddup2(&actions, io.output.value(), output_fd);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  auto argv = arguments(what);
  std::vector<std::string> envp = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                   "LC_ALL=C"};
  if (!what.scratch.empty())
    envp.push_back("TMPDIR=" + what.scratch.string());
  pid_t pid = -1;
  int code = ::posix_spawn(&pid, argv.front().c_str(), &actions, &attributes,
                           pointers(argv).data(), pointers(envp).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0)
    return fail(ec::infra, fmt::format("cannot start '{}': {}; build the "
                                       "target swage-worker",
                                       argv.front(), std::strerror(code)));
  return pid;
}

// Above the numbers that the child's descriptors get, so that none of the
// duplications overwrites the source of a later one.
descriptor high_memfd(const char* name) {
  descriptor low{::memfd_create(name, MFD_CLOEXEC)};
  return descriptor{::fcntl(low.value(), F_DUPFD_CLOEXEC, 10)};
}

// Waits for the end; the process group is killed when time is up.
void supervise(pid_t pid, const compile_request& what, compile_outcome& seen) {
  descriptor pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  auto end = steady::now() + std::chrono::duration<double>(what.timeout_s);
  for (;;) {
    auto left = std::chrono::duration<double>(end - steady::now()).count();
    seen.timed_out = left <= 0;
    seen.stopped = what.stop.stop_requested();
    if (seen.timed_out || seen.stopped)
      return void(::kill(-pid, SIGKILL));
    auto ms = static_cast<int>(std::ceil(left * 1e3));
    if (what.stop.stop_possible())
      ms = std::min(ms, stop_poll_ms);
    pollfd event{pidfd.value(), POLLIN, 0};
    if (::poll(&event, 1, ms) > 0)
      return;
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec)
         + static_cast<double>(time.tv_usec) * 1e-6;
}

} // namespace

result<compile_outcome> run_compiler(const compile_request& what) {
  files io{high_memfd("swage-source"), high_memfd("swage-output"),
           high_memfd("swage-errors")};
  if (!io.source || !io.output || !io.errors
      || !write_all(io.source.value(), what.source))
    return fail(ec::infra, fmt::format("cannot hold a compiler's files: {}",
                                       std::strerror(errno)));
  auto start = steady::now();
  auto pid = spawn(what, io);
  if (!pid)
    return tl::unexpected(pid.error());
  compile_outcome seen;
  supervise(*pid, what, seen);
  int status = 0;
  rusage used{};
  while (::wait4(*pid, &status, 0, &used) < 0 && errno == EINTR) {}
  seen.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  seen.wall_s = std::chrono::duration<double>(steady::now() - start).count();
  seen.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  seen.errors = read_file(io.errors.value(), max_errors);
  if (seen.code == 0)
    seen.output = read_file(io.output.value(), max_output);
  return seen;
}

} // namespace swage
