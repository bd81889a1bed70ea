#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace swage;
using namespace swage::test;
namespace fs = std::filesystem;

namespace {

// As a container does by default, for this process and all that it starts.
bool refuse_namespaces() {
  sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog all{4, rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
         && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

// What goes wrong, or nothing. Root's folder is closed to any other user.
std::string complaint(const fs::path& cache) {
  auto make = builder::create(
    {worker_program(), cache, "runtime/verify/prelude.hpp"});
  if (!make)
    return make.error().message;
  auto args = vector_args();
  auto code = (*make)->build(candidate_with("y[0] = x[0] + 1;"), args);
  if (!code)
    return code.error().detail;
  auto run = runner::start({worker_program()});
  if (!run)
    return run.error().message;
  auto note = (*run)->confinement();
  if (note.find("no namespaces") == note.npos)
    return "there are namespaces: " + note;
  auto memory = shared_memory::create(lay_out(args), 1);
  auto process = (*run)->launch(*code, args, *memory);
  if (!process)
    return process.error().message;
  if (auto seen = process->call(0, 5); !seen.ok())
    return seen.detail;
  auto read = (*make)->build(
    candidate_with("y[0] = 1;", "asm(\".incbin \\\"/etc/passwd\\\"\");"), args);
  if (read && note.find("hidden by landlock") != note.npos)
    return "the compiler reads other files";
  for (const auto& entry : fs::directory_iterator{cache / "scratch"})
    return "left behind: " + entry.path().string();
  return {};
}

} // namespace

TEST_CASE("candidates compile and run without namespaces",
          "[verify][sandbox]") {
  auto name = (fs::temp_directory_path() / "swage-alone-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  int words[2];
  REQUIRE(::pipe(words) == 0);
  auto pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    auto said = refuse_namespaces() ? complaint(fs::path{name})
                                    : "seccomp filters are refused";
    (void) !::write(words[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(words[1]);
  std::string said(4096, '\0');
  auto n = ::read(words[0], said.data(), said.size());
  said.resize(static_cast<size_t>(n > 0 ? n : 0));
  ::close(words[0]);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  fs::remove_all(name);
  CHECK(status == 0);
  CHECK(said == "");
}
