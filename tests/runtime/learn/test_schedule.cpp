#include "runtime/learn/schedule.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace swage;
using Catch::Approx;

TEST_CASE("the rate rises, peaks and decays", "[runtime][learn]") {
  lr_schedule s{1.0, 0.1, 0.1, lr_schedule::cosine};
  CHECK(learning_rate(s, 0.05) == Approx(0.5));
  CHECK(learning_rate(s, 0.1) == Approx(1));
  CHECK(learning_rate(s, 0.55) == Approx(0.55));
  CHECK(learning_rate(s, 1) == Approx(0.1));
  CHECK(learning_rate(s, 2) == Approx(0.1));
  s.shape = lr_schedule::linear;
  CHECK(learning_rate(s, 0.55) == Approx(0.55));
  s.shape = lr_schedule::constant;
  CHECK(learning_rate(s, 0.99) == Approx(1));
}

TEST_CASE("a stage of warm-up alone divides by nothing", "[runtime][learn]") {
  lr_schedule s{1.0, 1.0, 0.1, lr_schedule::cosine};
  CHECK(learning_rate(s, 0.5) == Approx(0.5));
  CHECK(learning_rate(s, 1.0) == Approx(0.1));
  s.warmup = 0;
  CHECK(learning_rate(s, 0) == Approx(1));
}
