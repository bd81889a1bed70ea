#include "tools/bench/seed_tables.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace swage;
using namespace swage::bench;
using Catch::Approx;

namespace {

/// Two levels of `tasks` tasks each, with so many successes of 8.
evaluation evaluated(uint32_t successes, int tasks = 10) {
  evaluation out;
  for (int i = 0; i < 2 * tasks; ++i) {
    task_outcome one;
    one.task = "task" + std::to_string(100 + i);
    one.level = 1 + i % 2;
    one.samples = 8;
    one.successes = successes;
    out.tasks.push_back(one);
    out.outcomes["ok"] += successes;
    out.outcomes["compile_error:compiler"] += 8 - successes;
  }
  return out;
}

std::vector<seed_outcome> two_seeds() {
  std::vector<seed_outcome> out(2);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    auto& one = out[seed - 1];
    one.seed = seed;
    one.before = evaluated(2);
    one.after = evaluated(2 + static_cast<uint32_t>(seed));
    one.rl = {40, 1000, 25, 200, 50, 1.25};
    one.stages = {{"teach", 60}, {"rl-single", 3600}};
    one.wall_s = 3700 + static_cast<double>(seed);
  }
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a metric's table has seeds, their middle and levels",
          "[bench][seeds]") {
  auto text = metric_table(two_seeds(), metric::avg_at_k);
  CAPTURE(text);
  CHECK(has(text, "Avg@8 %"));
  CHECK(has(text, "seed 1               25.0 (25.0 to 25.0)  37.5"));
  CHECK(has(text, "+12.5 (+12.5 to +12.5)"));
  CHECK(has(text, "median of the seeds"));
  CHECK(has(text, "+18.8"));
  CHECK(has(text, "level 2, mean"));
  CHECK(has(text, "all levels, mean"));
}

TEST_CASE("what was learnt is shown by its ends", "[bench][seeds]") {
  auto seeds = two_seeds();
  task_facts facts;
  for (auto& one : seeds[0].before.tasks)
    facts.programs[one.task] = "relu(x)";
  facts.tags["task100"] = {"relu"};
  auto text = part_tables(seeds, facts);
  CAPTURE(text);
  CHECK(has(text, "relu"));
  CHECK(has(text, "operations"));
  CHECK(has(text, "..."));
  CHECK(has(text, "task105")); // The sixth of twenty, the seventh is not shown.
  CHECK_FALSE(has(text, "task106"));
  CHECK(has(text, "task119"));
  CHECK(has(category_table(seeds), "compile_error:compiler     75.00"));
}

TEST_CASE("a run's table has its steps, masks and times", "[bench][seeds]") {
  auto text = run_table(two_seeds());
  CAPTURE(text);
  CHECK(has(text, "without spread %"));
  CHECK(has(text, "2.5"));  // Masked.
  CHECK(has(text, "25.0")); // Without spread.
  CHECK(has(text, "1 h 00 min"));
}

TEST_CASE("the last line is in points", "[bench][seeds]") {
  auto out = summary_json(two_seeds());
  CHECK(out["gain_avg_at_8"]["median"] == Approx(18.75));
  CHECK(out["gain_avg_at_8"]["min"] == Approx(12.5));
  CHECK(out["gain_pass_at_8"]["median"] == Approx(0));
  CHECK(out["gain_faster_rate"]["min"] == Approx(0));
  // p = 1/4, 3/8 and 1/2 of 8: variances 3/112, 15/448 and 1/28 over 20 tasks.
  auto error = 100
               * std::sqrt((2 * 3.0 / 112 + 15.0 / 448 + 1.0 / 28) / 4 / 20);
  CHECK(out["evaluation_error"] == Approx(error));
  CHECK(out["seeds"] == nlohmann::json{1, 2});
  CHECK(out["wall_s"][1] == 3702);
  CHECK(out["masked_share"][0] == 0.025);
  CHECK(out["tasks"] == 20);
}
