#include "runtime/learn/metrics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace swage;
using Catch::Approx;

TEST_CASE("metrics count all samples, failures included", "[runtime][learn]") {
  std::vector<eval_row> rows = {
    {"a", 1, true, 2.0}, {"a", 1, false, -1},  {"b", 1, true, 1.05},
    {"b", 1, true, 1.2}, {"c", 2, false, -1}, {"c", 2, false, 3.0},
  };
  auto out = summarise(rows);
  REQUIRE(out.size() == 3);
  CHECK(out[0].level == 1);
  CHECK(out[0].pass_at_k.value == Approx(1));
  CHECK(out[0].avg_at_k.value == Approx(0.75));
  CHECK(out[0].faster_rate.value == Approx(0.5));
  CHECK(out[1].pass_at_k.value == 0);
  CHECK(out[1].faster_rate.value == 0); // Wrong and fast is not faster.
  CHECK(out[2].level == 0);
  CHECK(out[2].tasks == 3);
  CHECK(out[2].samples == 6);
  CHECK(out[2].samples_per_task == 2);
  CHECK(out[2].pass_at_k.value == Approx(2.0 / 3));
  CHECK(out[2].avg_at_k.value == Approx(0.5));
}

TEST_CASE("intervals hold the value and stay in range", "[runtime][learn]") {
  std::vector<eval_row> rows;
  for (int task = 0; task < 64; ++task)
    for (int sample = 0; sample < 8; ++sample)
      rows.push_back({std::to_string(task), 1, sample < task % 9, 1.5});
  for (auto& s : {summarise(rows).back().avg_at_k,
                  summarise(rows).back().pass_at_k,
                  summarise(rows).back().faster_rate}) {
    CHECK(s.low >= 0);
    CHECK(s.low < s.value);
    CHECK(s.value < s.high);
    CHECK(s.high <= 1);
  }
}

TEST_CASE("no rows give one empty summary", "[runtime][learn]") {
  auto out = summarise(std::vector<eval_row>{});
  REQUIRE(out.size() == 1);
  CHECK(out[0].tasks == 0);
  CHECK(out[0].avg_at_k.value == 0);
}
