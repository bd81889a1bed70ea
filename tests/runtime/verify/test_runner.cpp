#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>

using namespace swage;
using namespace swage::test;

namespace {

size_t open_descriptors() {
  std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

// Does something that ends the process, and waits for its end.
template <class Action>
void ends_with(pid_t pid, Action action) {
  int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  REQUIRE(pidfd >= 0);
  action();
  pollfd event{pidfd, POLLIN, 0};
  CHECK(::poll(&event, 1, 10'000) == 1);
  ::close(pidfd);
}

} // namespace

TEST_CASE("a worker that died is started again", "[verify][runner]") {
  auto own = runner::start({worker_program()});
  REQUIRE(own);
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto code = compiled(candidate_with("y[0] = x[0] + 1;"));
  auto before = (*own)->launch(code, args, *memory);
  REQUIRE(before);
  REQUIRE(before->call(0, 5).ok());
  ends_with(before->pid(), [&] { ::kill((*own)->worker_pid(), SIGKILL); });
  // Its candidates end with it, which is nobody's fault but ours.
  CHECK(before->call(0, 5).kind == category::infra_worker);
  auto after = (*own)->launch(code, args, *memory);
  REQUIRE(after);
  CHECK(after->call(0, 5).ok());
  CHECK((*own)->restarts() == 1);
}

TEST_CASE("a candidate that is killed is not charged", "[verify][runner]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto process = shared_runner().launch(compiled(candidate_with("y[0] = 1;")),
                                        args, *memory);
  REQUIRE(process);
  REQUIRE(process->call(0, 5).ok());
  ends_with(process->pid(), [&] { ::kill(process->pid(), SIGKILL); });
  CHECK(process->call(0, 5).kind == category::infra_worker);
}

TEST_CASE("nothing is left behind by a candidate", "[verify][runner]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto code = compiled(candidate_with("y[0] = 1;"));
  shared_runner();
  auto descriptors = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    pid_t pid = 0;
    {
      auto process = shared_runner().launch(code, args, *memory);
      REQUIRE(process);
      pid = process->pid();
      REQUIRE(exists(pid));
      if (i % 2 == 0)
        REQUIRE(process->call(0, 5).ok());
    }
    CHECK_FALSE(exists(pid));
  }
  CHECK(open_descriptors() == descriptors);
}

TEST_CASE("several candidates live side by side", "[verify][runner]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  auto other = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  REQUIRE(other);
  auto one = shared_runner().launch(compiled(candidate_with("y[0] = 1;")), args,
                                    *memory);
  auto two = shared_runner().launch(compiled(candidate_with("y[0] = 2;")), args,
                                    *other);
  REQUIRE(one);
  REQUIRE(two);
  CHECK(two->call(0, 5).ok());
  CHECK(one->call(0, 5).ok());
  CHECK(*reinterpret_cast<float*>(memory->output(0, 0).data()) == 1);
  CHECK(*reinterpret_cast<float*>(other->output(0, 0).data()) == 2);
}

TEST_CASE("a final outcome stays what it was", "[verify][runner]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto process = shared_runner().launch(compiled(candidate_with("abort();")),
                                        args, *memory);
  REQUIRE(process);
  CHECK(process->call(0, 5).kind == category::runtime_exception);
  CHECK(process->call(0, 5).kind == category::runtime_exception);
  CHECK_FALSE(process->settle(1).returned);
}

TEST_CASE("a missing worker program is named", "[verify][runner]") {
  auto none = runner::start({"/nowhere/swage-worker"});
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("/nowhere/swage-worker")
        != std::string::npos);
}

TEST_CASE("bytes that are no library cannot load", "[verify][runner]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  artifact junk;
  junk.bytes = std::string(5000, 'x');
  auto process = shared_runner().launch(junk, args, *memory);
  REQUIRE(process);
  CHECK(process->call(0, 5).kind == category::compile_link);
}
