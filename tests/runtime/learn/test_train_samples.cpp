#include "runtime/learn/train_samples.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace swage;
using Catch::Approx;

namespace {

turn make_turn(int32_t token, uint64_t version) {
  turn out;
  out.prompt = {1, 2};
  out.response = {token};
  out.logprobs = {-0.5f};
  out.versions = {{version, 1}};
  return out;
}

trajectory make_sample(uint64_t item, uint32_t index, double ret) {
  trajectory out;
  out.item = item;
  out.index = index;
  out.ret = ret;
  out.turns = {make_turn(10, 4), make_turn(11, 2)};
  return out;
}

judged_batch make_batch(stage_kind stage, item_kind kind) {
  judged_batch out;
  out.what.kind = stage;
  // Groups interleaved on purpose: they are joined by item.
  out.samples = {make_sample(1, 0, -1), make_sample(2, 0, 1),
                 make_sample(1, 1, 1), make_sample(2, 1, 1)};
  for (auto& sample : out.samples)
    out.what.members.push_back({sample.item, sample.index, kind});
  return out;
}

} // namespace

TEST_CASE("groups are joined by item, not position", "[runtime][learn]") {
  auto from = make_batch(stage_kind::rl_single, item_kind::task);
  auto a = batch_advantages(from.what, from.samples, 0);
  CHECK(a[0] == Approx(-1).epsilon(1e-5));
  CHECK(a[2] == Approx(1).epsilon(1e-5));
  CHECK(a[1] == 0);
  CHECK(a[3] == 0);
}

TEST_CASE("multi-turn RL trains the first turn only", "[runtime][learn]") {
  auto from = make_batch(stage_kind::rl_multi, item_kind::task);
  auto out = make_train_samples(from, {});
  REQUIRE(out.size() == 4);
  CHECK(out[0].response == std::vector<int32_t>{10});
  CHECK(out[0].behaviour == std::vector<float>{-0.5f});
  CHECK(out[0].group == from.samples[0].item);
  learner_config settings;
  settings.token_mean = "batch";
  CHECK(make_train_samples(from, settings)[0].group == 0);
  CHECK(oldest_trained_version(stage_kind::rl_multi, item_kind::task,
                               from.samples[0])
        == 4);
}

TEST_CASE("repairs train the tokens of every turn", "[runtime][learn]") {
  auto from = make_batch(stage_kind::rl_multi, item_kind::repair);
  CHECK(make_train_samples(from, {}).size() == 8);
  CHECK(oldest_trained_version(stage_kind::rl_multi, item_kind::repair,
                               from.samples[0])
        == 2);
}

TEST_CASE("examples train their last turn without behaviour",
          "[runtime][learn]") {
  auto from = make_batch(stage_kind::sft, item_kind::example);
  auto out = make_train_samples(from, {});
  REQUIRE(out.size() == 4);
  CHECK(out[0].response == std::vector<int32_t>{11});
  CHECK(out[0].behaviour.empty());
  CHECK(out[0].advantage == 1);
  CHECK(out[0].kept);
}

TEST_CASE("weights go with the tokens that they are of",
          "[runtime][learn]") {
  auto from = make_batch(stage_kind::rl_multi, item_kind::repair);
  for (auto& sample : from.samples) {
    sample.turns[0].response = {10, 11, 12};
    sample.turns[0].logprobs = {-1, -1, -1};
  }
  from.judgements.resize(4);
  from.judgements[1].weights = {1, 2, 3, 4};
  auto out = make_train_samples(from, {});
  REQUIRE(out.size() == 8);
  CHECK(out[0].weights.empty());
  CHECK(out[2].weights == std::vector<float>{1, 2, 3});
  CHECK(out[3].weights == std::vector<float>{4});
}

TEST_CASE("what no newer policy has seen is on-policy", "[runtime][learn]") {
  auto from = make_batch(stage_kind::rl_single, item_kind::task);
  CHECK_FALSE(make_train_samples(from, {})[0].on_policy); // Not judged.
  from.judgements.resize(4);
  from.judgements[1].staleness = 1;
  auto out = make_train_samples(from, {});
  CHECK(out[0].on_policy);
  CHECK_FALSE(out[1].on_policy);
}

TEST_CASE("what the mirror masked is not kept", "[runtime][learn]") {
  auto from = make_batch(stage_kind::rl_single, item_kind::task);
  from.judgements.resize(4);
  from.judgements[2].kept = false;
  auto out = make_train_samples(from, {});
  CHECK(out[0].kept);
  CHECK_FALSE(out[2].kept);
}
