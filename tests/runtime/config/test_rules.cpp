#include "runtime/config/rules.hpp"

#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>
#include <vector>

using namespace swage;

TEST_CASE("the defaults contradict nothing at all", "[runtime][config]") {
  CHECK(check_rules(config{}, {}).has_value());
}

TEST_CASE("a contradiction names both knobs and lines", "[runtime][config]") {
  auto loaded = parse_config("[buffer]\nlease_ttl_s = 8\n"
                             "[faults]\ndetection_s = 9\n",
                             "x.toml");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().message
        == "buffer.lease_ttl_s = 8 (x.toml:2:15) contradicts "
           "faults.detection_s = 9 (x.toml:4:15): a dead node must be seen "
           "before its leases end, so lease_ttl_s is above detection_s");
}

TEST_CASE("a contradiction with a default says so", "[runtime][config]") {
  std::vector<std::string> overrides = {"rollout.max_new_tokens=600"};
  auto loaded = parse_config("", "x.toml", overrides);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().message
        == "policy.max_tokens = 512 (default) contradicts "
           "rollout.max_new_tokens = 600 (--set rollout.max_new_tokens=600): "
           "the prompt must fit beside the response, so max_new_tokens is "
           "below max_tokens");
}

TEST_CASE("each pair of knobs can contradict itself", "[runtime][config]") {
  struct row {
    std::vector<std::string> overrides;
    std::string left, right;
  };
  auto [overrides, left, right] = GENERATE(
    row{{"faults.beat_interval_s=4"},
        "faults.beat_interval_s",
        "faults.detection_s"},
    row{{"buffer.lease_ttl_s=5"}, "buffer.lease_ttl_s", "faults.detection_s"},
    row{{"faults.stall_timeout_s=60"},
        "faults.stall_timeout_s",
        "buffer.lease_ttl_s"},
    row{{"buffer.poll_hold_s=30", "buffer.lease_ttl_s=100"},
        "buffer.poll_hold_s",
        "faults.request_timeout_s"},
    row{{"buffer.poll_hold_s=20"}, "buffer.poll_hold_s", "buffer.lease_ttl_s"},
    row{{"cluster.max_message_bytes=100000000"},
        "cluster.max_message_bytes",
        "faults.detection_s"},
    row{{"cluster.max_message_bytes=1000000"},
        "weights.chunk_bytes",
        "cluster.max_message_bytes"},
    row{{"policy.max_tokens=300000", "learner.micro_batch_tokens=300000"},
        "policy.max_tokens",
        "cluster.max_message_bytes"},
    row{
      {"policy.max_tokens=256"}, "policy.max_tokens", "rollout.max_new_tokens"},
    row{{"learner.micro_batch_tokens=511"},
        "learner.micro_batch_tokens",
        "policy.max_tokens"},
    row{{"rollout.group_size=1"}, "rollout.group_size", "run.stages"},
    row{{"buffer.min_group=9"}, "buffer.min_group", "rollout.group_size"},
    row{{"buffer.max_rollouts_per_batch=63"},
        "buffer.max_rollouts_per_batch",
        "buffer.groups_per_batch"},
    row{{"run.stages=rl-multi"}, "rollout.max_turns", "run.stages"},
    row{{"reward.early_bonus_second=0.15"},
        "reward.early_bonus_first",
        "reward.early_bonus_second"},
    row{{"learner.seq_mask=random"},
        "learner.seq_mask_delta",
        "learner.seq_mask"},
    row{{"cluster.tls_key=k"}, "cluster.tls_certificate", "cluster.tls_key"},
    row{{"cluster.tls_ca=k"}, "cluster.tls_ca", "cluster.tls_certificate"},
    row{{"verifier.target=cuda"}, "verifier.form", "verifier.target"},
    row{{"tasks.taught=1001"}, "tasks.taught", "tasks.train"},
    row{{"tasks.level_weights=1,1,1,1"}, "tasks.level_weights", "tasks.suite"},
    row{{"run.stages=eval-validation", "tasks.validation=0"},
        "run.stages",
        "tasks.validation"},
    row{{"buffer.retry_depth=0"},
        "buffer.retry_probability",
        "buffer.retry_depth"},
    row{{"buffer.retry_capacity=0"},
        "buffer.retry_probability",
        "buffer.retry_capacity"});
  CAPTURE(overrides);
  auto loaded = parse_config("", "x.toml", overrides);
  REQUIRE_FALSE(loaded.has_value());
  INFO(loaded.error().message);
  CHECK(loaded.error().message.starts_with(left + " = "));
  CHECK(loaded.error().message.find(" contradicts " + right + " = ")
        != std::string::npos);
}

TEST_CASE("stages in a wrong order are located", "[runtime][config]") {
  auto loaded = parse_config("[run]\nstages = [\"sft\", \"teach\"]\n",
                             "x.toml");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().message
        == "run.stages = [\"sft\", \"teach\"] (x.toml:2:10): sft trains what "
           "teach or rft collected, so one of them is before it");
}

TEST_CASE("weights that draw no task are located", "[runtime][config]") {
  auto loaded = parse_config("[tasks]\nlevel_weights = [0, 0]\n", "x.toml");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().message.starts_with(
    "tasks.level_weights = [0, 0] (x.toml:2:17): tasks of some level"));
}

TEST_CASE("token weights must fit between the nodes", "[runtime][config]") {
  std::string nodes = "[learner]\nseq_mask = \"icepop\"\n"
                      "[[cluster.node]]\nname = \"head\"\n"
                      "address = \"h:1\"\n"
                      "actors = {rollout = 1, verifier = 1, learner = 1}\n";
  CHECK(parse_config(nodes, "x.toml").has_value());
  std::vector<std::string> overrides = {"buffer.groups_per_batch=4096",
                                        "buffer.max_rollouts_per_batch=99999"};
  auto loaded = parse_config(nodes, "x.toml", overrides);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().message.starts_with(
    "learner.seq_mask = \"icepop\" (x.toml:2:12) contradicts "
    "cluster.max_message_bytes = 4194304 (default): "));
  // In one process nothing is sent.
  overrides.push_back("learner.seq_mask=icepop");
  CHECK(parse_config("", "x.toml", overrides).has_value());
}

TEST_CASE("one sample is enough without reinforcement", "[runtime][config]") {
  std::vector<std::string> overrides = {"run.stages=teach,sft,eval",
                                        "rollout.group_size=1",
                                        "buffer.retry_probability=0"};
  CHECK(parse_config("", "x.toml", overrides).has_value());
}
