#include "runtime/verify/process_state.hpp"

#include <fmt/format.h>

#include <time.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace swage {

double process_cpu_s(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (pid <= 0 || ::clock_getcpuclockid(pid, &clock) != 0
      || ::clock_gettime(clock, &time) != 0)
    return -1;
  return static_cast<double>(time.tv_sec)
         + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool is_asleep(pid_t pid) {
  std::error_code gone;
  for (std::filesystem::directory_iterator
         it{fmt::format("/proc/{}/task", pid), gone},
       end;
       it != end; it.increment(gone)) {
    std::ifstream file{it->path() / "stat"};
    std::string line;
    std::getline(file, line);
    // Behind the name, which stands in parentheses and may hold some.
    auto name_end = line.rfind(") ");
    if (name_end != std::string::npos && name_end + 2 < line.size()
        && line[name_end + 2] == 'R')
      return false;
  }
  return true;
}

} // namespace swage
