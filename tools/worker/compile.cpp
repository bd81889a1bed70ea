#include "runtime/verify/sandbox.hpp"
#include "tools/worker/descriptors.hpp"
#include "tools/worker/worker.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace {

constexpr int could_not = 125;
constexpr uint64_t scratch_bytes = uint64_t{256} << 20;

struct request {
  uint64_t cpu_s = 0;
  uint64_t memory_bytes = 0;
  int output = -1;
  char** visible = nullptr;  ///< Null-terminated.
  char** compiler = nullptr; ///< Null-terminated.
};

bool read_arguments(int argc, char** argv, request& into) {
  if (argc < 5)
    return false;
  into.cpu_s = std::strtoull(argv[0], nullptr, 10);
  into.memory_bytes = std::strtoull(argv[1], nullptr, 10);
  into.output = std::atoi(argv[2]);
  into.visible = argv + 3;
  for (int i = 3; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--") == 0) {
      argv[i] = nullptr;
      into.compiler = argv + i + 1;
      return true;
    }
  return false;
}

bool limit(__rlimit_resource resource, uint64_t value) {
  rlimit both{value, value};
  return ::setrlimit(resource, &both) == 0;
}

// `scratch` is null in a root of its own, where nothing is left to hide.
[[noreturn]] void become_compiler(const request& what, const char* scratch,
                                  pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent && ::getppid() != 0)
    ::_exit(could_not);
  ::close(what.output);
  bool ok = limit(RLIMIT_CPU, what.cpu_s) && limit(RLIMIT_CORE, 0)
            && limit(RLIMIT_AS, what.memory_bytes)
            && limit(RLIMIT_FSIZE, scratch_bytes)
            && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && (scratch == nullptr
                || swage_sandbox_hide_files(what.visible, scratch) == 0);
  if (ok)
    ::execvp(what.compiler[0], what.compiler);
  std::fprintf(stderr, "cannot start %s: %s\n", what.compiler[0],
               std::strerror(errno));
  ::_exit(could_not);
}

// A run without output, such as a question for the version, has copied it.
bool copy_output(int to) {
  struct stat what {};
  int from = ::open("out", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (from < 0)
    return errno == ENOENT;
  bool ok = ::fstat(from, &what) == 0 && S_ISREG(what.st_mode);
  off_t offset = 0;
  while (ok && offset < what.st_size)
    ok = ::sendfile(to, from, &offset,
                    static_cast<size_t>(what.st_size - offset))
         > 0;
  ::close(from);
  return ok;
}

// The new root's own /tmp, or a folder that is removed afterwards.
bool enter_scratch(bool own_root, char* folder, size_t bytes) {
  if (own_root) {
    ::setenv("TMPDIR", "/tmp", 1);
    return ::chdir("/tmp") == 0;
  }
  const auto* base = std::getenv("TMPDIR");
  std::snprintf(folder, bytes, "%s/swage-build-XXXXXX",
                base != nullptr ? base : "/tmp");
  // From here on by its absolute name.
  return ::mkdtemp(folder) != nullptr && ::chdir(folder) == 0
         && ::getcwd(folder, bytes) != nullptr
         && ::setenv("TMPDIR", folder, 1) == 0;
}

} // namespace

int compile(int argc, char** argv) {
  request what;
  if (!read_arguments(argc, argv, what))
    return could_not;
  std::array kept = {what.output};
  close_all_but(kept);
  char note[256] = {};
  swage_sandbox_view view{what.visible, scratch_bytes, 1};
  if (swage_sandbox_isolate(&view, note, sizeof note) != 0)
    return could_not;
  bool own_root = std::strstr(note, "; a root of its own") != nullptr;
  char folder[512] = {};
  if (!enter_scratch(own_root, folder, sizeof folder))
    return could_not;
  auto parent = ::getpid();
  auto pid = ::fork();
  if (pid < 0)
    return could_not;
  if (pid == 0)
    become_compiler(what, own_root ? nullptr : folder, parent);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 0 && !copy_output(what.output))
    code = could_not;
  if (folder[0] != '\0') {
    std::error_code ignored;
    ::chdir("/");
    std::filesystem::remove_all(folder, ignored);
  }
  return code;
}
