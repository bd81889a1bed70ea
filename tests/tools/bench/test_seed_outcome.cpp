#include "tools/bench/seed_outcome.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace swage;
using namespace swage::bench;
using Catch::Approx;

namespace {

sample_record sample(std::string task, std::string category, double speedup) {
  sample_record out;
  out.task = std::move(task);
  out.level = 2;
  out.category = std::move(category);
  out.success = out.category == "ok";
  out.speedup = speedup;
  return out;
}

stage_record stage(std::string name, double begun_s, double ended_s) {
  stage_record out;
  out.name = std::move(name);
  out.begun_s = begun_s;
  out.ended_s = ended_s;
  return out;
}

} // namespace

TEST_CASE("samples are counted by task and by category", "[bench][seeds]") {
  auto dropped = sample("b", "infra:worker", -1);
  dropped.dropped = true;
  auto found = count_samples({sample("b", "ok", 1.1), sample("a", "ok", 1.11),
                              dropped, sample("b", "ok", 3),
                              sample("b", "cheating:replay", 9),
                              sample("b", "runtime_error:crash", -1)});
  REQUIRE(found.tasks.size() == 2);
  CHECK(found.tasks[0].task == "a");
  CHECK(found.tasks[0].level == 2);
  CHECK(found.tasks[0].faster == 1);
  CHECK(found.tasks[1].samples == 4);
  CHECK(found.tasks[1].successes == 2);
  CHECK(found.tasks[1].faster == 1); // 1.1 is not above 1.1; cheats are not.
  CHECK(found.outcomes.at("ok") == 3);
  CHECK(found.outcomes.at("cheating:replay") == 1);
}

TEST_CASE("a stage lasts until the next one begins", "[bench][seeds]") {
  auto found = stage_times(
    {stage("teach", 100, 160), stage("sft", 0, 0), stage("eval", 200, 210),
     stage("rl-single", 212, 300), stage("eval", 305, 315)});
  REQUIRE(found.size() == 5);
  CHECK(found[0].seconds == Approx(60));
  CHECK(found[1].seconds == Approx(40));
  CHECK(found[2].seconds == Approx(12));
  CHECK(found[3].seconds == Approx(93));
  CHECK(found[4].seconds == Approx(10));
}
