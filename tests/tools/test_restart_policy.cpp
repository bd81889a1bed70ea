#include "tools/swage/restart_policy.hpp"

#include <catch2/catch_test_macros.hpp>

using swage::restart_policy;

TEST_CASE("answers of a child end its parent", "[tools][restart]") {
  for (int code : {0, 1, 2, 4}) {
    auto next = restart_policy{5, 600}.on_end({.value = code}, false);
    CHECK_FALSE(next.restart);
    CHECK(next.exit_code == code);
  }
}

TEST_CASE("failures are restarted with growing waits", "[tools][restart]") {
  restart_policy policy{8, 600};
  for (double wait : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0}) {
    auto next = policy.on_end({.by_signal = true, .value = 11}, false);
    CHECK(next.restart);
    CHECK(next.after_s == wait);
  }
  auto last = policy.on_end({.value = 3}, false);
  CHECK_FALSE(last.restart);
  CHECK(last.exit_code == 3);
  CHECK(last.gave_up);
}

TEST_CASE("a child that settled is forgiven", "[tools][restart]") {
  restart_policy policy{1, 600};
  CHECK(policy.on_end({.value = 3, .lived_s = 1}, false).restart);
  CHECK(policy.on_end({.value = 3, .lived_s = 1201}, false).restart);
  // It hung from its start until that was seen: 600 s and a beat.
  CHECK_FALSE(policy.on_end({.value = 3, .lived_s = 601}, false).restart);
}

TEST_CASE("nothing restarts once the user stops", "[tools][restart]") {
  restart_policy policy{5, 600};
  auto next = policy.on_end({.by_signal = true, .value = 9}, true);
  CHECK_FALSE(next.restart);
  CHECK(next.exit_code == 3);
  CHECK_FALSE(next.gave_up);
  CHECK(policy.on_end({.value = 0}, true).exit_code == 0);
}

TEST_CASE("zero restarts means the first failure ends", "[tools][restart]") {
  CHECK_FALSE(restart_policy(0, 600).on_end({.value = 3}, false).restart);
}
