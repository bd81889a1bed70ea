#include "runtime/verify/measure_statistics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace swage;

std::vector<timed_pair> pairs(size_t n, double reference, double candidate) {
  return std::vector<timed_pair>(n, {reference, candidate});
}

std::vector<timed_pair> idle(size_t n) {
  return pairs(n, 1e-6, 1e-6);
}

constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("the median is the middle of sorted values", "[verify][measure]") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK(std::isnan(median({})));
  CHECK(rc::check("against sorting", [](std::vector<double> values) {
    RC_PRE(!values.empty());
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    auto n = sorted.size();
    auto want = n % 2 == 1 ? sorted[n / 2]
                           : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    RC_ASSERT(median(values) == want);
  }));
}

TEST_CASE("the interval uses the known order statistics",
          "[verify][measure]") {
  // For 15 values the 4th and the 12th bound the median at 95 % (96.5 %).
  std::vector<double> values;
  for (int i = 1; i <= 15; ++i)
    values.push_back(i);
  auto found = median_interval(values);
  CHECK(found.low == 4);
  CHECK(found.high == 12);
  found = median_interval({2, 1, 3});
  CHECK(found.low == 1);
  CHECK(found.high == 3);
}

TEST_CASE("the interval covers the median as often as said",
          "[verify][measure]") {
  std::mt19937_64 random{7};
  std::lognormal_distribution<double> draw{0, 1};
  for (size_t n : {7, 15, 31}) {
    int covered = 0;
    for (int round = 0; round < 4000; ++round) {
      std::vector<double> values(n);
      for (auto& value : values)
        value = draw(random);
      auto found = median_interval(values);
      covered += found.low <= 1 && 1 <= found.high;
    }
    CHECK(covered >= 0.94 * 4000);
  }
}

TEST_CASE("an empty call is subtracted from both sides", "[verify][measure]") {
  auto found = summarise(pairs(15, 120e-6, 70e-6), pairs(15, 20e-6, 20e-6));
  CHECK(found.speedup == Catch::Approx(2.0));
  CHECK(found.reference_s == Catch::Approx(100e-6));
  CHECK(found.candidate_s == Catch::Approx(50e-6));
  CHECK(plausible(found));
}

TEST_CASE("each call is compared with its own empty call",
          "[verify][measure]") {
  // Waking takes three times as long in a part of the measurement.
  auto values = pairs(15, 107e-6, 57e-6), empty = pairs(15, 7e-6, 7e-6);
  for (size_t i = 0; i < 8; ++i) {
    values[i].candidate += 15e-6;
    empty[i].candidate += 15e-6;
  }
  auto found = summarise(values, empty);
  CHECK(found.speedup == Catch::Approx(2.0));
  CHECK(found.bounds.low == Catch::Approx(2.0));
}

TEST_CASE("what is below the resolution counts as the resolution",
          "[verify][measure]") {
  auto found = summarise(pairs(9, 9e-6, 3.1e-6), pairs(9, 3e-6, 3e-6));
  CHECK(found.candidate_s == timing_resolution_s);
  CHECK(found.speedup == Catch::Approx(6.0));
}

TEST_CASE("one outlier does not move the speedup", "[verify][measure]") {
  auto values = pairs(15, 100e-6, 50e-6);
  values[3].reference = 1;
  values[9].candidate = 1;
  CHECK(summarise(values, idle(15)).speedup == Catch::Approx(2.0).epsilon(0.05));
}

TEST_CASE("a reading that is no time spoils the measurement",
          "[verify][measure]") {
  for (auto bad : {not_a_number, 0.0, -1e-6,
                   std::numeric_limits<double>::infinity()}) {
    auto values = pairs(9, 100e-6, 50e-6);
    values[4].candidate = bad;
    CHECK_FALSE(plausible(summarise(values, idle(9))));
    values = pairs(9, 100e-6, 50e-6);
    values[4].reference = bad;
    CHECK_FALSE(plausible(summarise(values, idle(9))));
    values = pairs(9, 100e-6, 50e-6);
    auto empty = idle(9);
    empty[4].reference = bad;
    CHECK_FALSE(plausible(summarise(values, empty)));
  }
  CHECK_FALSE(plausible(summarise({}, {})));
}
