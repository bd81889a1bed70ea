#include "runtime/learn/metrics.hpp"
#include "tools/bench/seed_statistics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <random>

using namespace swage;
using namespace swage::bench;
using Catch::Approx;

namespace {

task_outcome outcome(std::string task, uint32_t successes, uint32_t faster = 0,
                     uint32_t samples = 8) {
  return {std::move(task), 1, samples, successes, faster};
}

} // namespace

TEST_CASE("a bootstrap interval is that of the binomial", "[bench][seeds]") {
  // Ten ones among twenty values: twenty times a resampled mean is binomial
  // (20, 1/2). P(X <= 5) = 2.07 %, P(X <= 6) = 5.77 %: the 2.5 % point is 6.
  std::vector<double> values(20, 0.0);
  std::fill(values.begin(), values.begin() + 10, 1.0);
  auto found = bootstrap_mean(values, 1);
  CHECK(found.value == Approx(0.5));
  CHECK(found.low == Approx(0.3));
  CHECK(found.high == Approx(0.7));
}

TEST_CASE("a bootstrap of two values reaches both", "[bench][seeds]") {
  // Means 0, 1/2 and 1 with chances 1/4, 1/2 and 1/4.
  auto found = bootstrap_mean(std::vector<double>{0, 1}, 7);
  CHECK(found.low == 0);
  CHECK(found.high == 1);
}

TEST_CASE("a bootstrap follows its seed alone", "[bench][seeds]") {
  std::vector<double> values;
  for (int i = 0; i < 64; ++i)
    values.push_back(i * i % 17 / 17.0);
  auto one = bootstrap_mean(values, 3), same = bootstrap_mean(values, 3),
       other = bootstrap_mean(values, 4);
  CHECK(one.low == same.low);
  CHECK(one.high == same.high);
  CHECK((one.low != other.low || one.high != other.high));
  // Close to the normal interval, which is right for 64 bounded values.
  double variance = 0;
  for (auto v : values)
    variance += (v - one.value) * (v - one.value) / 64;
  auto half = 1.96 * std::sqrt(variance / 64);
  CHECK(one.low == Approx(one.value - half).margin(0.1 * half));
  CHECK(one.high == Approx(one.value + half).margin(0.1 * half));
}

TEST_CASE("values without spread have an interval of a point",
          "[bench][seeds]") {
  for (auto& values : {std::vector<double>(9, 0.25), std::vector{0.25}}) {
    auto found = bootstrap_mean(values, 1);
    CHECK(found.low == Approx(0.25));
    CHECK(found.high == Approx(0.25));
  }
  CHECK(bootstrap_mean(std::vector<double>{}, 1).value == 0);
}

TEST_CASE("a sampling error is that of repeated evaluations",
          "[bench][seeds]") {
  // p = 1/4 and 1/2 of 8: (0.1875 + 0.25) / 7 = 1/16, its root 1/4, over 2.
  CHECK(sampling_error(std::vector{outcome("a", 2), outcome("b", 4)},
                       metric::avg_at_k)
        == Approx(0.125));
  CHECK(sampling_error(std::vector{outcome("a", 0), outcome("b", 8)},
                       metric::avg_at_k)
        == 0);
  // Evaluations of tasks with known chances, drawn again and again.
  std::mt19937_64 engine{5};
  double sum = 0, squares = 0, promised = 0;
  constexpr int rounds = 2000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<task_outcome> tasks;
    double mean = 0;
    for (int i = 0; i < 64; ++i) {
      std::binomial_distribution<uint32_t> draw{8, i / 64.0};
      tasks.push_back(outcome(std::to_string(i), draw(engine)));
      mean += value_of(tasks.back(), metric::avg_at_k) / 64;
    }
    sum += mean / rounds;
    squares += mean * mean / rounds;
    auto error = sampling_error(tasks, metric::avg_at_k);
    promised += error * error / rounds;
  }
  CHECK(std::sqrt(promised)
        == Approx(std::sqrt(squares - sum * sum)).epsilon(0.05));
}

TEST_CASE("values of tasks average to the run's metrics", "[bench][seeds]") {
  std::vector<eval_row> rows;
  std::vector<task_outcome> tasks;
  for (uint32_t task = 0; task < 12; ++task) {
    tasks.push_back(outcome("t" + std::to_string(task), 0));
    for (uint32_t i = 0; i < 8; ++i) {
      bool success = i < task % 9, faster = success && i % 3 == 0;
      rows.push_back({tasks.back().task, 1, success, faster ? 1.2 : 1.1});
      tasks.back().successes += success;
      tasks.back().faster += faster;
    }
  }
  auto mean = [&](metric what) {
    std::vector<double> values;
    for (auto& one : tasks)
      values.push_back(value_of(one, what));
    return bootstrap_mean(values, 1).value;
  };
  auto whole = summarise(rows).back();
  CHECK(mean(metric::avg_at_k) == Approx(whole.avg_at_k.value));
  CHECK(mean(metric::pass_at_k) == Approx(whole.pass_at_k.value));
  CHECK(mean(metric::faster_rate) == Approx(whole.faster_rate.value));
}

TEST_CASE("middle and least of seeds", "[bench][seeds]") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({}) == 0);
  CHECK(least(std::vector<double>{3, -1, 2}) == -1);
  CHECK(root_mean_square(std::vector<double>{3, 4}) == Approx(std::sqrt(12.5)));
}
