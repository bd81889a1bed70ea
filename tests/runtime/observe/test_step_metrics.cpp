#include "runtime/observe/step_metrics.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>

using namespace swage;

namespace {

double value(const std::vector<scalar>& scalars, std::string_view tag) {
  auto found = std::ranges::find(scalars, tag, &scalar::tag);
  REQUIRE(found != scalars.end());
  return found->value;
}

} // namespace

TEST_CASE("a step's idle share follows its times", "[runtime][observe]") {
  auto scalars = step_scalars({.tokens = 4000,
                               .samples = 64,
                               .kept = 48,
                               .wait_s = 3,
                               .train_s = 0.75,
                               .publish_s = 0.25});
  CHECK(value(scalars, "perf/trainer_idle_ratio") == 0.75);
  CHECK(value(scalars, "perf/throughput") == 1000);
  CHECK(value(scalars, "learner/kept_fraction") == 0.75);
  CHECK(value(step_scalars({}), "perf/throughput") == 0);
}

TEST_CASE("a floor is told where one was seen", "[runtime][observe]") {
  auto has_floor = [](const step_report& report) {
    return std::ranges::count(step_scalars(report), "offpolicy/learner_floor",
                              &scalar::tag)
           == 1;
  };
  CHECK(has_floor({.floor = 1e-6, .floor_tokens = 9}));
  CHECK_FALSE(has_floor({}));
}

TEST_CASE("lag and floor of drift are apart", "[runtime][observe]") {
  auto scalars = drift_scalars({.mean_abs_p50 = 0.5,
                                .floor = 0.125,
                                .samples = 8,
                                .masked_positive = 1,
                                .masked_negative = 2,
                                .masked_zero = 1});
  CHECK(value(scalars, "offpolicy/lag") == 0.375);
  CHECK(value(scalars, "offpolicy/floor") == 0.125);
  CHECK(value(scalars, "offpolicy/seq_masked_fraction") == 0.5);
  CHECK(value(scalars, "offpolicy/masked_advantage_positive") == 0.125);
  CHECK(value(scalars, "offpolicy/masked_advantage_negative") == 0.25);
}

TEST_CASE("masked tokens are a share of those weighed",
          "[runtime][observe]") {
  auto scalars = drift_scalars(
    {.samples = 2, .tokens = 400, .masked_tokens = 100, .capped_tokens = 50});
  CHECK(value(scalars, "offpolicy/token_masked_fraction") == 0.25);
  CHECK(value(scalars, "offpolicy/token_capped_fraction") == 0.125);
  CHECK(value(drift_scalars({}), "offpolicy/token_masked_fraction") == 0);
}

TEST_CASE("a stage's line tells of its own steps only",
          "[runtime][observe]") {
  step_report taught{.step = 600, .kind = stage_kind::sft, .loss = 0.5};
  buffer_progress now;
  now.kind = stage_kind::sft;
  now.done = 600;
  now.last_committed = 600;
  CHECK(step_note(taught, now, 0) == "loss 0.500");
  now.kind = stage_kind::rl_single;
  now.done = 0;
  CHECK(step_note(taught, now, 0).empty());
  // A second stage of the same kind begins with nothing to tell either.
  now.kind = stage_kind::sft;
  CHECK(step_note(taught, now, 0).empty());
  step_report trained{.step = 601, .kind = stage_kind::rl_single};
  trained.samples = 8;
  trained.kept = 7;
  now.kind = stage_kind::rl_single;
  now.done = 1;
  now.last_committed = 601;
  CHECK(step_note(trained, now, 0.25) == "return +0.25, kept 7/8");
}

TEST_CASE("no two figures share a name", "[runtime][observe]") {
  std::set<std::string_view> tags;
  size_t count = 0;
  for (auto& scalars : {step_scalars({}), drift_scalars({})})
    for (auto& one : scalars) {
      tags.insert(one.tag);
      ++count;
    }
  CHECK(tags.size() == count);
}
