#include "tools/bench/kill_plan.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>

using namespace swage::bench;

namespace {

const std::vector<uint32_t> training = {1, 3};

auto counted(const std::vector<planned_kill>& plan, moment when) {
  return std::ranges::count(plan, when, &planned_kill::when);
}

} // namespace

TEST_CASE("a plan reaches every stage and every victim", "[bench][kills]") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    auto plan = draw_kills(seed, 20, 5, training);
    REQUIRE(plan.size() == 20);
    CHECK(counted(plan, moment::checkpoint) == 4);
    CHECK(counted(plan, moment::start_up) == 4);
    std::set<int> stages;
    for (auto& one : plan)
      if (one.when == moment::progress)
        stages.insert(static_cast<int>(one.at));
    CHECK(stages == std::set{0, 1, 2, 3, 4});
    CHECK(std::ranges::is_sorted(plan, {}, &planned_kill::at));
    for (size_t i = 0; i + 3 <= plan.size(); i += 3)
      CHECK(std::set{plan[i].whom, plan[i + 1].whom, plan[i + 2].whom}.size()
            == 3);
  }
}

TEST_CASE("kills at checkpoints fall where some are written",
          "[bench][kills]") {
  for (uint64_t seed = 1; seed <= 50; ++seed)
    for (auto& one : draw_kills(seed, 20, 5, training))
      if (one.when == moment::checkpoint) {
        auto share = one.at - static_cast<int>(one.at);
        CHECK((one.at < 2 ? one.at >= 1 : one.at >= 3 && one.at < 4));
        CHECK(share <= 0.8);
      }
}

TEST_CASE("a kill at start-up follows another kill", "[bench][kills]") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    auto plan = draw_kills(seed, 6, 5, training);
    REQUIRE(plan.size() == 6);
    CHECK(plan.front().when != moment::start_up);
    CHECK(counted(plan, moment::start_up) == 1);
  }
}

TEST_CASE("a plan follows its seed alone", "[bench][kills]") {
  auto times = [](uint64_t seed) {
    std::vector<double> out;
    for (auto& one : draw_kills(seed, 20, 5, training)) {
      out.push_back(one.at);
      out.push_back(one.delay_s);
    }
    return out;
  };
  CHECK(times(4) == times(4));
  CHECK(times(4) != times(5));
  CHECK(draw_kills(1, 1, 5, training).size() == 1);
  CHECK(draw_kills(1, 2, 5, {}).size() == 2);
  CHECK(draw_kills(1, 10, 5, {}).size() == 10);
}
