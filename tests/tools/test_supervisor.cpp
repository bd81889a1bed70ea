#include "tools/swage/stop_signals.hpp"
#include "tools/swage/supervisor.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

using namespace swage;

namespace {

/// Runs this program's hidden case `name` as the child; counts its starts.
int supervised(const std::string& name, int& starts, uint32_t restarts = 2) {
  auto arguments = [&](uint64_t start) {
    ++starts;
    return std::vector<std::string>{"test",       name,
                                    "--out",      "/dev/null",
                                    "--rng-seed", std::to_string(start + 1)};
  };
  return supervise(arguments, {restarts, 600, 0.001});
}

} // namespace

TEST_CASE("child exits with one", "[.child]") {
  ::_exit(1);
}

TEST_CASE("child fails", "[.child]") {
  ::_exit(3);
}

TEST_CASE("child crashes at its first start", "[.child]") {
  // The parent passes the number of the start as the seed.
  if (Catch::getSeed() == 1)
    ::kill(::getpid(), SIGKILL);
  ::_exit(0);
}

TEST_CASE("child has its parent asked to stop", "[.child]") {
  stop_signals signals;
  ::kill(::getppid(), SIGINT);
  std::mutex lock;
  std::condition_variable_any changed;
  std::unique_lock guard{lock};
  changed.wait(guard, signals.token(), [] { return false; });
  ::_exit(signals.token().stop_requested() ? 0 : 3);
}

TEST_CASE("child hears no Ctrl-C and will not stop", "[.child]") {
  ::raise(SIGINT);
  ::signal(SIGTERM, [](int) { ::kill(::getppid(), SIGTERM); });
  ::kill(::getppid(), SIGTERM);
  for (;;)
    ::pause();
}

TEST_CASE("the exit code of the child is ours", "[tools][supervisor]") {
  int starts = 0;
  CHECK(supervised("child exits with one", starts) == 1);
  CHECK(starts == 1);
}

TEST_CASE("a killed child is started again", "[tools][supervisor]") {
  int starts = 0;
  CHECK(supervised("child crashes at its first start", starts) == 0);
  CHECK(starts == 2);
}

TEST_CASE("a child that keeps failing is given up", "[tools][supervisor]") {
  int starts = 0;
  CHECK(supervised("child fails", starts, 2) == 3);
  CHECK(starts == 3);
}

TEST_CASE("a stop request reaches the child", "[tools][supervisor]") {
  int starts = 0;
  CHECK(supervised("child has its parent asked to stop", starts) == 0);
  CHECK(starts == 1);
}

TEST_CASE("a second request kills the child", "[tools][supervisor]") {
  int starts = 0;
  CHECK(supervised("child hears no Ctrl-C and will not stop", starts) == 3);
  CHECK(starts == 1);
}
