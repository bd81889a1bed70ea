#include "runtime/verify/measure_slot.hpp"
#include "tests/runtime/verify/engine_fixture.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace swage;

std::vector<int> cores_of(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(thread, sizeof set, &set) == 0);
  std::vector<int> out;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<size_t>(core), &set))
      out.push_back(core);
  return out;
}

} // namespace

TEST_CASE("all threads of a measured process are pinned", "[verify][measure]") {
  auto usable = usable_cores();
  if (usable.size() < 2)
    SKIP("needs two cores");
  std::atomic<pid_t> id = 0;
  std::jthread other{[&](const std::stop_token& stop) {
    id = static_cast<pid_t>(::syscall(SYS_gettid));
    id.notify_one();
    while (!stop.stop_requested())
      std::this_thread::yield();
  }};
  id.wait(0);
  test::scratch_folder folder;
  std::array last{usable.back()};
  auto slot = measure_slot::take(folder.path / "lock", last, 60, {});
  REQUIRE(slot);
  CHECK(cores_of(id) == usable);
  CHECK((*slot)->admit(::getpid()));
  CHECK(cores_of(id) == std::vector(last.begin(), last.end()));
  CHECK_FALSE((*slot)->admit(-1));
}
