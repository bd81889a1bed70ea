#include "runtime/verify/sandbox.hpp"
#include "runtime/verify/sandbox_inside.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

namespace {

// Stands for the process id in the compiled filter, which is made once, before
// the process that loads it exists.
constexpr uint32_t pid_marker = 0x2b5a'17c3;

std::vector<sock_filter> program;

// What OpenMP, the allocator, the loader and a clock need.
constexpr int allowed[] = {
  SCMP_SYS(read),
  SCMP_SYS(write),
  SCMP_SYS(writev),
  SCMP_SYS(readv),
  SCMP_SYS(pread64),
  SCMP_SYS(close),
  SCMP_SYS(fstat),
  SCMP_SYS(newfstatat),
  SCMP_SYS(stat),
  SCMP_SYS(lstat),
  SCMP_SYS(statx),
  SCMP_SYS(lseek),
  SCMP_SYS(mmap),
  SCMP_SYS(munmap),
  SCMP_SYS(mprotect),
  SCMP_SYS(brk),
  SCMP_SYS(madvise),
  SCMP_SYS(futex),
  SCMP_SYS(sched_yield),
  SCMP_SYS(sched_getaffinity),
  SCMP_SYS(sched_getparam),
  SCMP_SYS(sched_getscheduler),
  SCMP_SYS(sched_get_priority_min),
  SCMP_SYS(sched_get_priority_max),
  SCMP_SYS(set_robust_list),
  SCMP_SYS(rseq),
  SCMP_SYS(set_tid_address),
  SCMP_SYS(exit),
  SCMP_SYS(exit_group),
  SCMP_SYS(gettid),
  SCMP_SYS(getpid),
  SCMP_SYS(getppid),
  SCMP_SYS(getuid),
  SCMP_SYS(geteuid),
  SCMP_SYS(getgid),
  SCMP_SYS(getegid),
  SCMP_SYS(rt_sigprocmask),
  SCMP_SYS(rt_sigreturn),
  SCMP_SYS(sigaltstack),
  SCMP_SYS(clock_gettime),
  SCMP_SYS(clock_getres),
  SCMP_SYS(gettimeofday),
  SCMP_SYS(time),
  SCMP_SYS(nanosleep),
  SCMP_SYS(clock_nanosleep),
  SCMP_SYS(getrandom),
  SCMP_SYS(getcpu),
  SCMP_SYS(uname),
  SCMP_SYS(sysinfo),
  SCMP_SYS(getrusage),
  SCMP_SYS(times),
  SCMP_SYS(getrlimit),
  SCMP_SYS(restart_syscall),
  SCMP_SYS(getcwd),
  SCMP_SYS(getdents64),
};

struct refusal {
  int call;
  uint16_t error;
};

// What a library may try without harm, and does without when refused.
constexpr refusal refused[] = {
  {SCMP_SYS(clone3), ENOSYS},
  {SCMP_SYS(openat2), ENOSYS},
  {SCMP_SYS(membarrier), ENOSYS},
  {SCMP_SYS(mbind), ENOSYS},
  {SCMP_SYS(get_mempolicy), ENOSYS},
  {SCMP_SYS(set_mempolicy), ENOSYS},
  {SCMP_SYS(ioctl), ENOTTY},
  {SCMP_SYS(fcntl), EPERM},
  // An output's mapping would grow over what lies behind it in its file.
  {SCMP_SYS(mremap), ENOMEM},
  {SCMP_SYS(sched_setaffinity), EPERM},
  {SCMP_SYS(sched_setscheduler), EPERM},
  {SCMP_SYS(sched_setparam), EPERM},
  {SCMP_SYS(setpriority), EPERM},
  {SCMP_SYS(mlock), EPERM},
  {SCMP_SYS(munlock), EPERM},
  {SCMP_SYS(prctl), EPERM},
  {SCMP_SYS(access), EACCES},
  {SCMP_SYS(faccessat), EACCES},
  {SCMP_SYS(faccessat2), EACCES},
  {SCMP_SYS(readlink), EACCES},
  {SCMP_SYS(readlinkat), EACCES},
};

// Flags with which an open changes something.
constexpr uint64_t opens_to_write = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;

struct condition {
  int call;
  scmp_arg_cmp argument;
};

// Raising a signal in oneself, as abort() does; but who ends by SIGKILL was
// killed by another. Compared are 64 bits, of which the system takes 32: so
// what may pass is named, not what may not.
bool allow_raise(scmp_filter_ctx filter) {
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2,
                          scmp_arg_cmp{0, SCMP_CMP_EQ, pid_marker, 0},
                          scmp_arg_cmp{2, SCMP_CMP_LT, SIGKILL, 0})
         == 0;
}

bool add_conditional_rules(scmp_filter_ctx filter) {
  auto read_only = [](unsigned argument) {
    return scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, opens_to_write, O_RDONLY};
  };
  const condition conditions[] = {
    {SCMP_SYS(openat), read_only(2)},
    {SCMP_SYS(open), read_only(1)},
    {SCMP_SYS(clone), {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD}},
    {SCMP_SYS(prlimit64), {2, SCMP_CMP_EQ, 0, 0}},
    // The C library handles its own two signals when a first thread starts;
    // the others are this sandbox's evidence.
    {SCMP_SYS(rt_sigaction), {0, SCMP_CMP_EQ, 32, 0}},
    {SCMP_SYS(rt_sigaction), {0, SCMP_CMP_EQ, 33, 0}},
    {SCMP_SYS(rt_sigaction), {1, SCMP_CMP_EQ, 0, 0}},
  };
  return std::all_of(std::begin(conditions), std::end(conditions),
                     [&](const condition& rule) {
                       return seccomp_rule_add(filter, SCMP_ACT_ALLOW,
                                               rule.call, 1, rule.argument)
                              == 0;
                     });
}

bool fill(scmp_filter_ctx filter) {
  // A binary tree: the common calls are decided in a few comparisons.
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
      != 0)
    return false;
  // Calls that this architecture lacks have negative numbers; libseccomp
  // drops their rules.
  for (auto call : allowed)
    if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0)
      return false;
  for (auto [call, error] : refused)
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), call, 0) != 0)
      return false;
  return add_conditional_rules(filter) && allow_raise(filter);
}

bool read_program(scmp_filter_ctx filter) {
  int fd = ::memfd_create("swage-filter", MFD_CLOEXEC);
  if (fd < 0)
    return false;
  bool ok = seccomp_export_bpf(filter, fd) == 0;
  auto bytes = ::lseek(fd, 0, SEEK_END);
  ok = ok && bytes > 0 && bytes % sizeof(sock_filter) == 0;
  if (ok) {
    program.resize(static_cast<size_t>(bytes) / sizeof(sock_filter));
    ok = ::pread(fd, program.data(), static_cast<size_t>(bytes), 0) == bytes;
  }
  ::close(fd);
  return ok;
}

// Every right that the oldest version knows, reading and running included.
constexpr uint64_t all_file_rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

long landlock_rules(const landlock_ruleset_attr* what, size_t bytes,
                    uint32_t flags) {
  return ::syscall(SYS_landlock_create_ruleset, what, bytes, flags);
}

// Those of the first 32 in `kept` stay, where the process has them.
bool drop_capabilities(uint32_t kept = 0) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct had[2] = {};
  if (::syscall(SYS_capget, &header, had) != 0)
    return false;
  __user_cap_data_struct left[2] = {};
  left[0].permitted = left[0].effective = had[0].permitted & kept;
  return ::syscall(SYS_capset, &header, left) == 0;
}

constexpr uint64_t reading = LANDLOCK_ACCESS_FS_EXECUTE
                             | LANDLOCK_ACCESS_FS_READ_FILE;

bool open_to(int rules, const char* path, uint64_t rights) {
  int fd = ::open(path, O_PATH | O_CLOEXEC);
  struct stat what {};
  if (fd < 0 || ::fstat(fd, &what) != 0)
    return false;
  if (S_ISCHR(what.st_mode))
    rights = reading | LANDLOCK_ACCESS_FS_WRITE_FILE;
  else if (!S_ISDIR(what.st_mode))
    rights &= reading;
  landlock_path_beneath_attr rule{rights, fd};
  bool ok = ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
                      &rule, 0)
            == 0;
  ::close(fd);
  return ok;
}

bool limit(int resource, uint64_t value, uint64_t above = 0) {
  rlimit both{value, value + above};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

} // namespace

namespace swage::inside {

bool can_hide_files() {
  return landlock_rules(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

bool hide_files(const char* const* visible, const char* scratch) {
  landlock_ruleset_attr what{};
  what.handled_access_fs = all_file_rights;
  auto rules = static_cast<int>(landlock_rules(&what, sizeof what, 0));
  if (rules < 0)
    return false;
  bool ok = scratch == nullptr || open_to(rules, scratch, all_file_rights);
  // One that is missing, or cannot be opened, stays closed.
  for (auto path = visible; path != nullptr && *path != nullptr; ++path)
    open_to(rules, *path, reading | LANDLOCK_ACCESS_FS_READ_DIR);
  ok = ok && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
       && ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  ::close(rules);
  return ok;
}

bool prepare_filter() {
  if (!program.empty())
    return true;
  auto* filter = seccomp_init(SCMP_ACT_TRAP);
  if (filter == nullptr)
    return false;
  bool ok = fill(filter) && read_program(filter);
  seccomp_release(filter);
  if (!ok)
    program.clear();
  return ok;
}

bool load_filter() {
  if (!prepare_filter())
    return false;
  // Raising a signal in oneself, as abort() does, names the own process.
  for (auto& instruction : program)
    if (instruction.k == pid_marker)
      instruction.k = static_cast<uint32_t>(::getpid());
  sock_fprog loaded{static_cast<unsigned short>(program.size()),
                    program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
         && ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded) == 0;
}

} // namespace swage::inside

extern "C" int swage_sandbox_hide_files(const char* const* visible,
                                        const char* scratch) {
  using namespace swage::inside;
  if (!can_hide_files())
    return drop_capabilities() ? 0 : -1;
  // A root whose folders belong to somebody else is let into them by these.
  constexpr uint32_t to_files = (1u << CAP_DAC_OVERRIDE)
                                | (1u << CAP_DAC_READ_SEARCH);
  return drop_capabilities(to_files) && hide_files(visible, scratch) ? 0 : -1;
}

extern "C" int swage_sandbox_enter(uint64_t memory_bytes, uint32_t cpu_s) {
  using namespace swage::inside;
  note_memory();
  ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  // Where that is not to be had either, `isolate` has noted it.
  if (!own_root)
    hide_files();
  auto address_space = noted_memory() + memory_bytes;
  // CPU time ends by a signal of its own; by SIGKILL only for who blocks that.
  bool ok = limit(RLIMIT_AS, address_space) && limit(RLIMIT_CORE, 0)
            && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, 16)
            && limit(RLIMIT_CPU, std::max(1u, cpu_s), 1)
            && drop_capabilities() && load_filter();
  return ok ? 0 : -1;
}
