#include "tools/bench/fixture.hpp"
#include "tools/bench/kept_figures.hpp"
#include "tools/bench/run_figures.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <vector>

using namespace swage;
using namespace swage::bench;
using Catch::Matchers::WithinRel;

namespace {

/// So many samples in ten seconds on two cores.
run_figures run_of(uint64_t samples, double own_s, double idle_s) {
  run_figures out;
  out.wall_s = 10;
  out.samples = samples;
  out.own_s = own_s;
  out.idle_s = idle_s;
  out.cores = 2;
  return out;
}

run_timeline::time at(double s) {
  return run_timeline::time{}
         + std::chrono::nanoseconds{static_cast<int64_t>(s * 1e9)};
}

constexpr const char* proc_stat = R"(cpu  60 5 12 1000 40 0 3 9 0 0
cpu0 30 2 6 400 10 0 1 4 0 0
cpu1 20 2 3 350 20 0 1 4 0 0
cpu10 10 1 3 250 10 0 1 1 0 0
intr 1234 0 9
)";

} // namespace

TEST_CASE("idle time is that of the named cores", "[tools][bench]") {
  CHECK_THAT(idle_seconds(proc_stat, {0}, 100), WithinRel(4.1, 1e-9));
  CHECK_THAT(idle_seconds(proc_stat, {1, 10}, 100), WithinRel(6.3, 1e-9));
}

TEST_CASE("a core without a line has no idle time", "[tools][bench]") {
  CHECK(idle_seconds(proc_stat, {0, 2}, 100) < 0);
  CHECK(idle_seconds("", {0}, 100) < 0);
}

TEST_CASE("the idle share leaves out what others took", "[tools][bench]") {
  CHECK_THAT(idle_share(run_of(1, 12, 8)), WithinRel(0.4, 1e-9));
  auto shared = run_of(1, 9, 6);
  CHECK_THAT(idle_share(shared), WithinRel(0.4, 1e-9));
  CHECK_THAT(others_share(shared), WithinRel(0.25, 1e-9));
  // Clocks that tick apart take no share away.
  CHECK(others_share(run_of(1, 12.1, 8)) == 0);
}

TEST_CASE("the wanted ratio fills nine tenths of the machine",
          "[tools][bench]") {
  CHECK_THAT(wanted_ratio(0.4, 1.1), WithinRel(1.5, 1e-9));
  CHECK(wanted_ratio(0.1, 1.1) == 1.1);
}

TEST_CASE("the ratio is the median over pairs, not over runs",
          "[tools][bench]") {
  // Lock-step's rate doubles in mid-run, as on a machine that calms down.
  std::vector<run_pair> pairs{{run_of(100, 10, 10), run_of(150, 15, 5)},
                              {run_of(200, 10, 10), run_of(280, 15, 5)},
                              {run_of(200, 12, 8), run_of(320, 15, 5)}};
  auto found = summarise_ratio(pairs);
  CHECK_THAT(found.ratio, WithinRel(1.5, 1e-9));
  CHECK_THAT(found.bounds.low, WithinRel(1.4, 1e-9));
  CHECK_THAT(found.bounds.high, WithinRel(1.6, 1e-9));
  CHECK_THAT(median_idle_share(pairs), WithinRel(0.5, 1e-9));
}

TEST_CASE("only what lies inside counts as busy", "[tools][bench]") {
  run_timeline times;
  times.add(work::train, at(1), at(3));
  times.add(work::train, at(2), at(9));
  times.add(work::decode, at(0), at(2));
  times.add(work::score, at(7), at(8));
  auto busy = times.busy_s(at(2), at(6));
  CHECK_THAT(busy[static_cast<size_t>(work::train)], WithinRel(5.0, 1e-9));
  CHECK(busy[static_cast<size_t>(work::decode)] == 0);
  CHECK(busy[static_cast<size_t>(work::score)] == 0);
}

TEST_CASE("waits are log-normal around their median", "[tools][bench]") {
  std::vector<double> logs;
  for (uint64_t i = 0; i < 4000; ++i)
    logs.push_back(std::log(drawn_wait_s(1, i, 3) / 3));
  std::sort(logs.begin(), logs.end());
  // Standard normal quantiles; the error of each is below 0.04.
  CHECK(std::abs(logs[2000]) < 0.1);
  CHECK(std::abs(logs[636] + 1) < 0.15);
  CHECK(std::abs(logs[3364] - 1) < 0.15);
  CHECK(std::abs(logs[3909] - 2) < 0.25);
}

TEST_CASE("a wait depends on seed and candidate alone", "[tools][bench]") {
  CHECK(drawn_wait_s(1, 5, 2) == drawn_wait_s(1, 5, 2));
  CHECK(drawn_wait_s(1, 5, 2) != drawn_wait_s(1, 6, 2));
  CHECK(drawn_wait_s(2, 5, 2) != drawn_wait_s(1, 5, 2));
  CHECK_THAT(drawn_wait_s(1, 5, 4), WithinRel(2 * drawn_wait_s(1, 5, 2), 1e-12));
}

TEST_CASE("figures are measured once and kept", "[tools][bench]") {
  scratch at;
  auto file = at.path / "deep" / "1-lock-step.json";
  auto made = run_of(7, 3.5, 0.25);
  made.busy_s[1] = 1.5;
  int times = 0;
  auto measure = [&] {
    ++times;
    return made;
  };
  CHECK(kept_or_measured({}, measure).samples == 7);
  CHECK(kept_or_measured(file, measure).samples == 7);
  auto kept = kept_or_measured(file, measure);
  CHECK(times == 2);
  CHECK(kept.samples == 7);
  CHECK(kept.own_s == 3.5);
  CHECK(kept.busy_s == made.busy_s);
}
