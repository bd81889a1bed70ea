#include "runtime/buffer/record.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/store/checkpoint.hpp"
#include "tests/system/process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

using namespace swage;
using test::process;

namespace {

namespace fs = std::filesystem;

constexpr auto settings_text = R"(
[run]
stages = ["teach", "sft"]
checkpoint_interval = 1
[policy]
path = "configs/quickstart"
[tasks]
train = 4
validation = 0
held_out = 1
solutions_per_task = 1
[rollout]
group_size = 2
max_new_tokens = 16
[verifier]
trials = 2
stress = 0
measure = false
[buffer]
groups_per_batch = 1
dynamic_sampling = false
retry_probability = 0
[learner]
steps = 1
sft_steps = 2
sft_batch = 2
)";

std::string content(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Runs `swage train` to its end.
void train(const fs::path& root, std::vector<std::string> arguments) {
  auto* bin = std::getenv("SWAGE_BIN");
  REQUIRE(bin);
  arguments.insert(arguments.begin(), {"train", (root / "x.toml").string()});
  auto output = root / "out";
  process run{fs::path{bin} / "swage", arguments, output};
  auto code = run.wait(300);
  INFO(content(output));
  REQUIRE(code == 0);
}

} // namespace

TEST_CASE("a fork trains on from its checkpoint", "[system][slow][fork]") {
  auto root = fs::temp_directory_path()
              / fmt::format("swage-fork-{}", ::getpid());
  fs::create_directories(root);
  auto before = root / "before", after = root / "after";
  std::ofstream{root / "x.toml"} << settings_text;
  train(root, {"--out", before.string()});
  REQUIRE(fs::exists(before / "checkpoints/v000002"));
  train(root, {"--fork", "1", "--from", before.string(), "--out",
               after.string(), "--set", "run.stages=rl-single"});

  auto begun_with = after / "forked/v000001";
  CHECK(load_config(after / "config.toml")->policy.path == begun_with.string());
  auto weights = content(begun_with / "model.safetensors");
  CHECK(weights == content(before / "checkpoints/v000001/model.safetensors"));
  CHECK(weights != content(before / "checkpoints/v000002/model.safetensors"));
  // A run of its own: its versions begin with 1.
  auto batches = run_record::open(after / "run.db")->batches();
  REQUIRE(batches);
  REQUIRE(batches->size() == 1);
  CHECK(batches->front().step == 1);
  CHECK(batches->front().report.kind == stage_kind::rl_single);
  auto last = checkpoint_store{after / "checkpoints", 3}.newest_valid();
  REQUIRE(last);
  CHECK(last->step == 1);
  fs::remove_all(root);
}
