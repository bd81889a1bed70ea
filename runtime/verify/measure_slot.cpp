#include "runtime/verify/measure_slot.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

namespace swage {

namespace {

using clock = std::chrono::steady_clock;

constexpr int high_rank = -15;
constexpr auto lock_poll = std::chrono::microseconds{500};

bool pin(pid_t process, std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (auto core : cores)
    CPU_SET(static_cast<size_t>(core), &set);
  return ::sched_setaffinity(process, sizeof set, &set) == 0;
}

int current_nice() {
  errno = 0;
  auto value = ::getpriority(PRIO_PROCESS, 0);
  return errno == 0 ? value : 0;
}

} // namespace

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<size_t>(core), &set))
      out.push_back(core);
  return out;
}

result<std::unique_ptr<measure_slot>>
measure_slot::take(const std::filesystem::path& lock,
                   std::span<const int> cores, double timeout_s,
                   const std::stop_token& stop) {
  auto fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    return fail(ec::io, fmt::format("cannot open '{}': {}", lock.string(),
                                    std::strerror(errno)));
  auto end = clock::now() + std::chrono::duration<double>(timeout_s);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    auto code = stop.stop_requested()            ? ec::cancelled
                : clock::now() > end             ? ec::timeout
                : errno != EWOULDBLOCK
                    && errno != EINTR ? ec::io
                                      : ec::none;
    if (code != ec::none) {
      ::close(fd);
      return fail(code, "the measurement slot of this machine was not free");
    }
    std::this_thread::sleep_for(lock_poll);
  }
  return std::unique_ptr<measure_slot>{new measure_slot{fd, cores}};
}

measure_slot::measure_slot(int fd, std::span<const int> cores)
  : fd_{fd}, cores_{cores.begin(), cores.end()}, former_cores_{usable_cores()},
    former_nice_{current_nice()} {
  pin(0, cores_);
  raised_ = ::setpriority(PRIO_PROCESS, 0, high_rank) == 0;
}

measure_slot::~measure_slot() {
  if (raised_)
    ::setpriority(PRIO_PROCESS, 0, former_nice_);
  pin(0, former_cores_);
  ::close(fd_);
}

bool measure_slot::admit(pid_t process) const {
  std::error_code gone;
  std::filesystem::directory_iterator
    threads{fmt::format("/proc/{}/task", process), gone};
  if (gone)
    return false;
  bool pinned = true;
  for (const auto& one : threads) {
    auto thread = std::atoi(one.path().filename().c_str());
    if (raised_)
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), high_rank);
    pinned = pin(thread, cores_) && pinned;
  }
  return pinned;
}

} // namespace swage
