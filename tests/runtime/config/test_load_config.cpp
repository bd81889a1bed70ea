#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

/// The message that `text` is refused with.
std::string refusal(const std::string& text,
                    const std::vector<std::string>& overrides = {}) {
  auto loaded = swage::parse_config(text, "x.toml", overrides);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == swage::ec::invalid_config);
  return loaded.error().message;
}

swage::config accepted(const std::string& text,
                       const std::vector<std::string>& overrides = {}) {
  auto loaded = swage::parse_config(text, "x.toml", overrides);
  INFO((loaded ? "" : loaded.error().message));
  REQUIRE(loaded.has_value());
  return *loaded;
}

} // namespace

TEST_CASE("an empty file means all defaults", "[runtime][config]") {
  auto settings = accepted("");
  CHECK(settings.rollout.group_size == swage::rollout_config{}.group_size);
  CHECK(settings.run.stages == swage::run_config{}.stages);
}

TEST_CASE("values of every type reach their fields", "[runtime][config]") {
  auto settings = accepted("[run]\n"
                           "name = \"a-run\"\n"
                           "seed = 9007199254740992\n"
                           "stages = [\"eval\"]\n"
                           "[tasks]\n"
                           "level_weights = [1, 0.5]\n"
                           "[buffer]\n"
                           "dynamic_sampling = false\n"
                           "[learner]\n"
                           "lr = 1\n"
                           "threads = 3\n");
  CHECK(settings.run.name == "a-run");
  CHECK(settings.run.seed == 9'007'199'254'740'992u);
  CHECK(settings.run.stages == std::vector<std::string>{"eval"});
  CHECK(settings.tasks.level_weights == std::vector<double>{1, 0.5});
  CHECK_FALSE(settings.buffer.dynamic_sampling);
  CHECK(settings.learner.lr == 1);
  CHECK(settings.learner.threads == 3);
}

TEST_CASE("an unknown key names line and nearest key", "[runtime][config]") {
  CHECK(refusal("[rollout]\n\n  group_sise = 4\n")
        == "x.toml:3:3: unknown key group_sise in [rollout]; the nearest "
           "known key is rollout.group_size");
}

TEST_CASE("a key of another table is found there", "[runtime][config]") {
  CHECK(refusal("[learner]\ngroup_size = 4\n")
        == "x.toml:2:1: unknown key group_size in [learner]; the nearest "
           "known key is rollout.group_size");
}

TEST_CASE("a name from other systems finds ours", "[runtime][config]") {
  CHECK(refusal("[rollout]\nnum_generations = 4\n")
        == "x.toml:2:1: unknown key num_generations in [rollout]; the nearest "
           "known key is rollout.group_size");
}

TEST_CASE("a key like no other points to help", "[runtime][config]") {
  CHECK(refusal("[rollout]\nzzzzzzzzzzzzzzz = 4\n")
        == "x.toml:2:1: unknown key zzzzzzzzzzzzzzz in [rollout]; `swage "
           "train --help-config` lists the known ones");
}

TEST_CASE("nodes are found under a name near theirs", "[runtime][config]") {
  CHECK(refusal("[[cluster.nodes]]\nname = \"a\"\n")
        == "x.toml:1:11: unknown key nodes in [cluster]; the nearest known key "
           "is [[cluster.node]]");
}

TEST_CASE("an unknown table names the nearest one", "[runtime][config]") {
  CHECK(refusal("[run]\nseed = 1\n[lerner]\nlr = 1\n")
        == "x.toml:3:2: unknown table [lerner]; the nearest is [learner]");
}

TEST_CASE("a key outside of tables finds its table", "[runtime][config]") {
  CHECK(refusal("seed = 1\n")
        == "x.toml:1:1: unknown key seed outside of any table; the nearest "
           "known key is run.seed");
}

TEST_CASE("a wrong type says expected and found", "[runtime][config]") {
  CHECK(refusal("[rollout]\ngroup_size = \"four\"\n")
        == "x.toml:2:14: rollout.group_size must be a whole number from 1 to "
           "1024, found the text \"four\"");
  CHECK(refusal("[rollout]\ngroup_size = 4.5\n")
        == "x.toml:2:14: rollout.group_size must be a whole number from 1 to "
           "1024, found 4.5");
  CHECK(refusal("[verifier]\nmeasure = 1\n")
        == "x.toml:2:11: verifier.measure must be true or false, found 1");
  CHECK(
    refusal("[run]\nstages = \"sft\"\n")
    == "x.toml:2:10: run.stages must be a list, each one of teach, sft, "
       "rft, rl-single, rl-multi, eval, eval-validation, found the text \"sft\"");
  CHECK(refusal("[tasks]\nlevel_weights = [1, \"x\"]\n")
          .ends_with("found the list [1, the text \"x\"]"));
  CHECK(refusal("rollout = 3\n")
        == "x.toml:1:11: rollout must be a table, found 3");
}

TEST_CASE("numbers beyond their type are refused", "[runtime][config]") {
  CHECK(refusal("[rollout]\ngroup_size = 4294967298\n")
        == "x.toml:2:14: rollout.group_size must be a whole number from 1 to "
           "1024, found 4294967298");
  CHECK(refusal("[learner]\nlr = nan\n")
        == "x.toml:2:6: learner.lr: nan is not a number above 0 and at most "
           "1");
  CHECK(refusal("[learner]\ngrad_clip = inf\n")
        == "x.toml:2:13: learner.grad_clip: inf is not a number above 0");
}

TEST_CASE("a wrong choice names the nearest one", "[runtime][config]") {
  CHECK(refusal("[learner]\nseq_mask = \"mirorpop\"\n")
        == "x.toml:2:12: learner.seq_mask: \"mirorpop\" is not one of none, "
           "mirrorpop, geometric, icepop, tis, random; did you mean "
           "\"mirrorpop\"?");
}

TEST_CASE("broken syntax is located as well", "[runtime][config]") {
  auto message = refusal("[run]\nseed = = 1\n");
  CHECK(message.starts_with("x.toml:2:8: "));
  CHECK(refusal("[run]\nseed = 1\nseed = 2\n").starts_with("x.toml:3:"));
}

TEST_CASE("overrides win over the file in order", "[runtime][config]") {
  auto settings = accepted("[rollout]\ngroup_size = 4\n",
                           {"rollout.group_size=6", "rollout.group_size=16",
                            "run.stages=rft,eval", "tasks.suite=../mine",
                            "run.name=12", "tasks.level_weights=1,0.5",
                            "buffer.dynamic_sampling=false"});
  CHECK(settings.rollout.group_size == 16);
  CHECK(settings.run.stages == std::vector<std::string>{"rft", "eval"});
  CHECK(settings.tasks.suite == "../mine");
  CHECK(settings.run.name == "12");
  CHECK(settings.tasks.level_weights == std::vector<double>{1, 0.5});
  CHECK_FALSE(settings.buffer.dynamic_sampling);
}

TEST_CASE("overrides are checked like the file", "[runtime][config]") {
  CHECK(refusal("", {"rollout.group_size=many"})
        == "--set rollout.group_size=many: rollout.group_size must be a whole "
           "number from 1 to 1024, found many");
  CHECK(refusal("", {"rollout.grup_size=4"})
        == "--set rollout.grup_size=4: unknown key grup_size in [rollout]; "
           "the nearest known key is rollout.group_size");
  CHECK(refusal("", {"group_size=4"})
        == "--set group_size=4: expected table.key=value");
  CHECK(refusal("", {"rollout.group_size"})
        == "--set rollout.group_size: expected table.key=value");
  CHECK(refusal("", {"rollout.group_size=1\n[run]\nseed=3"})
          .ends_with("expected one value"));
  CHECK(refusal("", {"rollout.group_size="})
          .ends_with("must be a whole number from 1 to 1024, found "));
}

TEST_CASE("a missing file is named in the error", "[runtime][config]") {
  auto loaded = swage::load_config("/proc/none/x.toml");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == swage::ec::not_found);
  CHECK(loaded.error().message
        == "/proc/none/x.toml: no such configuration file");
}

TEST_CASE("a folder is no configuration", "[runtime][config]") {
  auto loaded = swage::load_config("/proc");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == swage::ec::invalid_config);
  CHECK(loaded.error().message.starts_with("/proc: expected a configuration"));
}

TEST_CASE("a huge file is not a configuration", "[runtime][config]") {
  auto file = std::filesystem::temp_directory_path()
              / ("swage-huge-" + std::to_string(::getpid()) + ".toml");
  std::ofstream{file} << std::string(2 << 20, '#');
  auto loaded = swage::load_config(file);
  std::filesystem::remove(file);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == swage::ec::invalid_config);
}
