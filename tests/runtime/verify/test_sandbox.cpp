#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace swage;
using namespace swage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct misdeed {
  const char* name;
  const char* body;
  category kind;
  const char* says;
};

constexpr auto headers = R"(
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>
)";

// What a candidate may try, how it is called, and what is said about it.
const misdeed misdeeds[] = {
  {"forks", "while (fork() >= 0) {}", category::cheating_tampering, "clone"},
  {"starts a program",
   "char* none[] = {nullptr}; execve(\"/bin/true\", none, none);",
   category::cheating_tampering, "execve"},
  {"runs a shell", "y[0] = system(\"true\");", category::cheating_tampering,
   "which a kernel has no need of"},
  {"writes a file",
   "auto* f = fopen(\"/tmp/result\", \"w\"); if (f) fputs(\"ok\", f);",
   category::cheating_tampering, "for writing"},
  {"writes a file as a stream", "std::ofstream{\"/tmp/result\"} << 1;",
   category::cheating_tampering, "for writing"},
  {"opens a socket", "y[0] = socket(AF_INET, SOCK_STREAM, 0);",
   category::cheating_tampering, "socket"},
  {"kills its parent", "kill(getppid(), SIGKILL);",
   category::cheating_tampering, "kill"},
  {"kills everyone", "kill(-1, SIGKILL);", category::cheating_tampering,
   "kill"},
  {"seems to be killed", "raise(SIGKILL);", category::cheating_tampering,
   "kill"},
  // The system takes 32 bits of these numbers, a filter compares 64.
  {"seems to be killed, in more bits",
   "syscall(SYS_tgkill, getpid(), gettid(), 0x100000009);",
   category::cheating_tampering, "kill"},
  {"handles the sandbox's signals, in more bits",
   "uint64_t act[4] = {}; syscall(SYS_rt_sigaction, 0x10000001f, act, 0, 8);",
   category::cheating_tampering, "rt_sigaction"},
  {"debugs its parent", "ptrace(PTRACE_ATTACH, getppid(), 0, 0);",
   category::cheating_tampering, "ptrace"},
  {"reads another's memory",
   "iovec part{y, 4}; process_vm_readv(getppid(), &part, 1, &part, 1, 0);",
   category::cheating_tampering, "process_vm_readv"},
  {"handles the sandbox's signals", "signal(SIGSYS, SIG_IGN);",
   category::cheating_tampering, "rt_sigaction"},
  {"raises its own limits",
   "rlimit all{RLIM_INFINITY, RLIM_INFINITY}; setrlimit(RLIMIT_AS, &all);",
   category::cheating_tampering, "which a kernel has no need of"},
  {"makes a file in memory", "y[0] = memfd_create(\"cache\", 0);",
   category::cheating_tampering, "memfd_create"},
  {"exits", "exit(0);", category::runtime_exception, "called exit"},
  {"exits without a goodbye", "_exit(0);", category::runtime_exception,
   "exited with status 0"},
  {"aborts", "abort();", category::runtime_exception, "abort"},
  {"throws", "throw std::runtime_error(\"no such axis\");",
   category::runtime_exception, "std::runtime_error: no such axis"},
  {"throws in a thread", "std::thread{[] { throw 7; }}.join();",
   category::runtime_exception, "int"},
  {"allocates without end",
   "std::vector<std::vector<float>> all; for (;;) all.emplace_back(1 << 20);",
   category::runtime_oom, "memory"},
  {"allocates without looking",
   "for (;;) { auto* p = (float*)malloc(4 << 20); p[0] = x[0]; y[0] += p[0]; }",
   category::runtime_oom, "memory"},
};

void check(const misdeed& one, const outcome& seen) {
  CAPTURE(one.name, seen.detail);
  CHECK(std::string{to_string(seen.kind)} == to_string(one.kind));
  CHECK_THAT(seen.detail, ContainsSubstring(one.says));
}

} // namespace

TEST_CASE("each misdeed ends in its own category", "[verify][sandbox]") {
  auto worker = shared_runner().worker_pid();
  std::vector<std::string> bodies;
  for (const auto& one : misdeeds)
    bodies.emplace_back(one.body);
  bodies.emplace_back("y[0] = 1;");
  auto code = compiled(candidate_of_many(bodies, headers));
  for (size_t i = 0; i + 1 < bodies.size(); ++i)
    check(misdeeds[i], outcome_of(code, i));
  // The worker went on through all of it.
  CHECK(shared_runner().worker_pid() == worker);
  CHECK(shared_runner().restarts() == 0);
  CHECK(outcome_of(code, bodies.size() - 1).ok());
}

TEST_CASE("a misdeed while loading is no better", "[verify][sandbox]") {
  check({"forks", "", category::cheating_tampering, "clone"},
        outcome_of("y[0] = once;",
                   "#include <unistd.h>\nstatic int once = fork();"));
  check({"exits", "", category::runtime_exception, "called exit"},
        outcome_of("y[0] = once;", "static int once = (exit(0), 1);"));
}

TEST_CASE("a candidate that never returns is ended", "[verify][sandbox]") {
  CHECK(outcome_of("for (volatile int i = 0;; ++i) {}", "", 0.1).kind
        == category::runtime_timeout);
  CHECK(outcome_of("y[0] = once;",
                   "static int spin() { for (volatile int i = 0;; ++i) {} }\n"
                   "static int once = spin();",
                   0.1)
          .kind
        == category::runtime_timeout);
  CHECK(outcome_of("sleep(3600);", "#include <unistd.h>", 0.1).kind
        == category::runtime_timeout);
}

TEST_CASE("CPU time that is used up is the candidate's", "[verify][sandbox]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  sandbox_limits limits;
  limits.cpu_s = 1;
  for (auto before : {"", "sigset_t all; sigfillset(&all);"
                          "sigprocmask(SIG_SETMASK, &all, nullptr);"}) {
    auto body = std::string{before} + "for (volatile int i = 0;; ++i) {}";
    auto process = shared_runner().launch(
      compiled(candidate_with(body, "#include <csignal>")), args, *memory,
      limits);
    REQUIRE(process);
    auto seen = process->call(0, 60);
    CAPTURE(seen.detail);
    CHECK(seen.kind == category::runtime_timeout);
    CHECK_THAT(seen.detail, ContainsSubstring("CPU time"));
  }
}

TEST_CASE("what a candidate prints reaches nobody", "[verify][sandbox]") {
  auto seen = outcome_of(R"(
    printf("{\"compiled\":true,\"correct\":true}\n");
    fflush(stdout);
    for (int fd = 0; fd < 64; ++fd)
      if (write(fd, "ok", 2) == 2)
        y[0] += 1;
  )",
                         "#include <unistd.h>");
  CHECK(seen.ok());
}

TEST_CASE("a candidate sees none of our files", "[verify][sandbox]") {
  if (shared_runner().confinement().find("can be read") != std::string::npos)
    SKIP("neither namespaces nor landlock: " << shared_runner().confinement());
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto process = shared_runner().launch(compiled(candidate_with(R"(
    const char* paths[] = {"/etc/passwd", "/proc/self/maps", "/proc/1/environ",
                           "/usr/bin/env", "/root", "/home"};
    y[0] = 0;
    for (auto* path : paths)
      if (auto* file = fopen(path, "r"))
        y[0] += 1;
  )")),
                                        args, *memory);
  REQUIRE(process);
  memory->poison(0);
  REQUIRE(process->call(0, 5).ok());
  CHECK(*reinterpret_cast<float*>(memory->output(0, 0).data()) == 0);
}

TEST_CASE("threads of OpenMP and the library work", "[verify][sandbox]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  sandbox_limits limits;
  limits.threads = 2;
  auto process = shared_runner().launch(
    compiled(candidate_with(R"(
    y[0] = omp_get_max_threads();
    float sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i)
      sum += x[i];
    y[1] = sum;
    std::thread{[&] { y[2] = 7; }}.join();
    cpu_set_t all;
    memset(&all, 255, sizeof all);
    y[3] = sched_setaffinity(0, sizeof all, &all);
  )",
                            "#include <thread>\n#include <sched.h>")),
    args, *memory, limits);
  REQUIRE(process);
  auto* x = reinterpret_cast<float*>(memory->input(0, 0).data());
  std::fill(x, x + 1024, 0.5f);
  auto seen = process->call(0, 5);
  CAPTURE(seen.detail);
  REQUIRE(seen.ok());
  auto* y = reinterpret_cast<float*>(memory->output(0, 0).data());
  CHECK(y[0] == 2);
  CHECK(y[1] == 512);
  CHECK(y[2] == 7);
  CHECK(y[3] == -1); // It stays on the cores that it was given.
}

TEST_CASE("work left behind by a call is noticed", "[verify][sandbox]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto start = [&](const char* body) {
    auto process = shared_runner().launch(
      compiled(candidate_with(body, "#include <pthread.h>")), args, *memory);
    REQUIRE(process);
    REQUIRE(process->call(0, 5).ok());
    return std::move(*process);
  };
  auto lazy = start("pthread_t thread; pthread_create(&thread, nullptr, "
                    "[](void*) -> void* { for (volatile int i = 0;; ++i) {} },"
                    " nullptr);");
  auto seen = lazy.settle(0.05);
  CHECK(seen.returned);
  CHECK_FALSE(seen.quiet);

  auto honest = start("#pragma omp parallel for\n"
                      "for (int64_t i = 0; i < n; ++i) y[i] = 1;");
  seen = honest.settle(2);
  CHECK(seen.returned);
  CHECK(seen.quiet);
}

TEST_CASE("an output does not grow over the next case", "[verify][sandbox]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 2);
  REQUIRE(memory);
  auto process = shared_runner().launch(compiled(candidate_with(R"(
    auto first = reinterpret_cast<uintptr_t>(y) & ~uintptr_t{4095};
    auto* more = mremap(reinterpret_cast<void*>(first), 4096, 4 * 4096,
                        MREMAP_MAYMOVE);
    y[0] = more == MAP_FAILED;
    auto* large = static_cast<float*>(malloc(1 << 20));
    large[0] = 3;
    large = static_cast<float*>(realloc(large, 8 << 20));
    y[1] = large[0];
  )",
                                                                "#include "
                                                                "<sys/mman.h>")),
                                        args, *memory);
  REQUIRE(process);
  memory->poison(0);
  REQUIRE(process->call(0, 5).ok());
  auto* y = reinterpret_cast<float*>(memory->output(0, 0).data());
  CHECK(y[0] == 1);
  CHECK(y[1] == 3); // What the allocator does without it.
}

TEST_CASE("inputs and state cannot be made writable", "[verify][sandbox]") {
  auto args = vector_args();
  args.state = {{"w", dtype::float32, {1024}, {}}};
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto process = shared_runner().launch(compiled(R"(
#include <sys/mman.h>

static float tries(const float* at) {
  auto first = reinterpret_cast<uintptr_t>(at) & ~uintptr_t{4095};
  auto* page = reinterpret_cast<void*>(first);
  float done = mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0 ? 1 : 0;
  done += madvise(page, 4096, MADV_REMOVE) == 0 ? 2 : 0;
  auto* moved = mremap(page, 4096, 4096, MREMAP_MAYMOVE);
  if (moved != MAP_FAILED)
    done += mprotect(moved, 4096, PROT_READ | PROT_WRITE) == 0 ? 4 : 0;
  return done;
}

extern "C" void kernel(const float* x, const float* w, float* y, int64_t n) {
  y[0] = tries(x);
  y[1] = tries(w);
}
)",
                                                 args),
                                        args, *memory);
  REQUIRE(process);
  memory->poison(0);
  REQUIRE(process->call(0, 5).ok());
  auto* y = reinterpret_cast<float*>(memory->output(0, 0).data());
  CHECK(y[0] == 0);
  CHECK(y[1] == 0);
}
