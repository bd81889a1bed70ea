#include "runtime/config/config_text.hpp"

#include "runtime/config/knobs.hpp"
#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <cmath>
#include <string>

using namespace swage;

namespace {

config reloaded(const config& settings) {
  auto loaded = parse_config(config_text(settings), "x.toml");
  INFO((loaded ? "" : loaded.error().message));
  REQUIRE(loaded.has_value());
  return *loaded;
}

} // namespace

TEST_CASE("the defaults survive a round trip", "[runtime][config]") {
  config settings;
  CHECK(config_text(reloaded(settings)) == config_text(settings));
  CHECK(config_differences(reloaded(settings), settings).empty());
}

TEST_CASE("awkward texts and numbers survive as well", "[runtime][config]") {
  config settings;
  settings.policy.path = "a \"quoted\" \\ path\twith\nall \x01 of it é";
  settings.tasks.level_weights = {1.0 / 3, 1e-300, 123456.78901234567};
  settings.run.seed = 9'007'199'254'740'991u;
  settings.learner.lr = 1e-6;
  auto back = reloaded(settings);
  CHECK(back.policy.path == settings.policy.path);
  CHECK(back.tasks.level_weights == settings.tasks.level_weights);
  CHECK(back.run.seed == settings.run.seed);
  CHECK(back.learner.lr == settings.learner.lr);
}

TEST_CASE("nodes survive a round trip in order", "[runtime][config]") {
  config settings;
  settings.actors = {.rollout = 2, .verifier = 3, .learner = 1};
  settings.cluster.head = "b";
  settings.cluster.nodes = {
    {"b", "127.0.0.1:4242", {.rollout = 2, .verifier = 0, .learner = 1}},
    {"a", "[::1]:4243", {.rollout = 0, .verifier = 3, .learner = 0}}};
  auto back = reloaded(settings);
  REQUIRE(back.cluster.nodes.size() == 2);
  CHECK(back.cluster.nodes[0].name == "b");
  CHECK(back.cluster.nodes[1].address == "[::1]:4243");
  CHECK(back.cluster.nodes[1].actors.verifier == 3);
  CHECK(config_hash(back) == config_hash(settings));
}

TEST_CASE("any reals in range survive a round trip", "[runtime][config]") {
  CHECK(rc::check([](double draw) {
    config settings;
    settings.learner.grad_clip = std::abs(draw);
    RC_PRE(std::isfinite(draw) && draw != 0);
    auto loaded = parse_config(config_text(settings), "x.toml");
    RC_ASSERT(loaded.has_value());
    RC_ASSERT(loaded->learner.grad_clip == settings.learner.grad_clip);
  }));
}

TEST_CASE("every knob stands below its help line", "[runtime][config]") {
  auto text = config_help();
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    CHECK(text.find(fmt::format("# {}\n", row.help)) != std::string::npos);
    CHECK(text.find(fmt::format("\n{} = ", row.key)) != std::string::npos);
  }
}

TEST_CASE("the hash follows every single knob", "[runtime][config]") {
  config settings;
  auto before = config_hash(settings);
  CHECK(config_hash(config{}) == before);
  settings.faults.drain_timeout_s += 1;
  CHECK(config_hash(settings) != before);
}

TEST_CASE("differences name the knob and both values", "[runtime][config]") {
  config left, right;
  right.run.seed = 5;
  right.rollout.temperature = 2; // Of recorded log-probabilities.
  right.learner.steps = 3;
  right.cluster.nodes = {{"a", "h:1", {}}};
  auto found = config_differences(left, right);
  REQUIRE(found.size() == 4);
  CHECK(found[0].path == "run.seed");
  CHECK(found[0].left == "1");
  CHECK(found[0].right == "5");
  CHECK(found[0].fixed);
  CHECK(found[1].path == "rollout.temperature");
  CHECK(found[1].fixed);
  CHECK(found[2].path == "learner.steps");
  CHECK_FALSE(found[2].fixed);
  CHECK(found[3].path == "cluster.node a");
  CHECK(found[3].left == "absent");
  CHECK(found[3].right == "h:1 with 1 rollouts, 1 verifiers, 1 learners");
}
