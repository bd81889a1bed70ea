#include "runtime/verify/process_end.hpp"

#include <fmt/format.h>

#include <sys/wait.h>

#include <csignal>

namespace swage {

namespace {

rejection killed(const process_end& how) {
  if (how.cpu_s >= how.cpu_limit_s)
    return {category::runtime_timeout, "used up its CPU time"};
  return {category::infra_worker,
          "its process was killed from outside, or by a system short of memory"};
}

} // namespace

rejection verdict_on(const process_end& how) {
  if (WIFEXITED(how.status))
    return {category::runtime_exception,
            fmt::format("exited with status {} before it had finished",
                        WEXITSTATUS(how.status))};
  switch (WTERMSIG(how.status)) {
  case SIGSEGV:
  case SIGBUS:
    return {category::runtime_illegal_access,
            "segmentation fault with no stack left to report it on"};
  case SIGSYS:
    return {category::cheating_tampering,
            "made a system call that a kernel has no need of"};
  case SIGXCPU:
    return {category::runtime_timeout, "used up its CPU time"};
  case SIGKILL:
    return killed(how);
  default:
    return {category::runtime_crash,
            fmt::format("ended by signal {}", WTERMSIG(how.status))};
  }
}

} // namespace swage
