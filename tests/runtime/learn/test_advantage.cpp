#include "runtime/learn/advantage.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace swage;
using Catch::Approx;

TEST_CASE("advantages are standardised in their group", "[runtime][learn]") {
  auto a = advantages(std::vector<double>{-1, 1, 1, -1}, 0);
  REQUIRE(a.size() == 4);
  CHECK(a[0] == Approx(-1).epsilon(1e-5));
  CHECK(a[1] == Approx(1).epsilon(1e-5));
}

TEST_CASE("equal returns give exactly zero advantage", "[runtime][learn]") {
  // The mean of three times 0.1 is not 0.1 in floating point.
  for (auto a : advantages(std::vector<double>{0.1, 0.1, 0.1}, 0))
    CHECK(a == 0);
  CHECK_FALSE(has_spread(std::vector<double>{0.1, 0.1, 0.1}));
  CHECK(has_spread(std::vector<double>{0.1, 0.2}));
  CHECK_FALSE(has_spread(std::vector<double>{}));
}

TEST_CASE("the floor keeps timing noise from counting", "[runtime][learn]") {
  std::vector<double> noise = {1.50, 1.51, 1.49, 1.50};
  auto loose = advantages(noise, 0);
  auto floored = advantages(noise, 0.3);
  CHECK(loose[1] > 1);
  CHECK(floored[1] < 0.05);
}

TEST_CASE("the return is anchored on the first turn", "[runtime][learn]") {
  prime_echo w;
  CHECK(trajectory_return(std::vector<double>{1.5}, w)
        == Approx(1.5 + 0.15));
  CHECK(trajectory_return(std::vector<double>{-1, 1}, w)
        == Approx(0.75 * -1 + 0.25 * 1 + 0.08));
  CHECK(trajectory_return(std::vector<double>{-1, -1, 1}, w)
        == Approx(0.75 * -1 + 0.25));
  CHECK(trajectory_return(std::vector<double>{-0.25, -1}, w)
        == Approx(-0.25));
}
