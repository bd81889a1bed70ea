#include "runtime/verify/measure_looks.hpp"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace swage;

TEST_CASE("a candidate that is wrong half of the time is seen",
          "[verify][measure]") {
  secret_seeds seeds{11};
  constexpr int rounds = 2000;
  for (size_t pairs : {7, 15, 30, 60}) {
    CAPTURE(pairs);
    int unseen_wrong = 0, untested = 0;
    for (int round = 0; round < rounds; ++round) {
      look_plan plan{false};
      bool seen = false, tested = false;
      for (size_t i = 0; i < pairs; ++i) {
        // Its better half: the later calls are looked at more rarely.
        bool wrong = 2 * i + 1 >= pairs;
        tested = plan.tests(i, seeds) || tested;
        seen = (plan.compares(i, seeds) && wrong) || seen;
      }
      unseen_wrong += seen ? 0 : 1;
      untested += tested ? 0 : 1;
    }
    CHECK(unseen_wrong < rounds / 12);
    CHECK(untested == 0);
  }
}

TEST_CASE("a later half of the calls has a test in it", "[verify][measure]") {
  secret_seeds seeds{11};
  for (bool slow : {false, true})
    for (int round = 0; round < 200; ++round) {
      look_plan plan{slow};
      std::vector<size_t> at;
      for (size_t i = 0; i < 60; ++i)
        if (plan.tests(i, seeds))
          at.push_back(i);
      CHECK(at.front() < 4);
      CHECK(at.back() >= 30);
      CHECK(at.size() >= (slow ? 5 : 8));
      CHECK(at.size() < 20);
    }
}

TEST_CASE("looks do not get rarer while nothing counts", "[verify][measure]") {
  secret_seeds seeds{11};
  look_plan plan{false};
  int tests = 0, compared = 0;
  for (int i = 0; i < 400; ++i) {
    tests += plan.tests(2, seeds) ? 1 : 0;
    compared += plan.compares(2, seeds) ? 1 : 0;
  }
  CHECK(tests == 200);
  CHECK(compared > 150);
}
