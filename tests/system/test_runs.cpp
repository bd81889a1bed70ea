#include "runtime/buffer/record.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/store/checkpoint.hpp"
#include "tests/system/process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

/// Runs `swage` to its end and returns what it wrote.
std::string run_swage(const fs::path& root, std::vector<std::string> arguments,
                      int expected = 0) {
  auto* bin = std::getenv("SWAGE_BIN");
  REQUIRE(bin);
  auto output = root / "out";
  fs::remove(output);
  process run{fs::path{bin} / "swage", arguments, output};
  auto code = run.wait(300);
  auto told = content(output);
  INFO(told);
  REQUIRE(code == expected);
  return told;
}

std::string train(const fs::path& root, std::vector<std::string> arguments,
                  int expected = 0) {
  arguments.insert(arguments.begin(), {"train", (root / "x.toml").string()});
  return run_swage(root, arguments, expected);
}

/// A folder of its own with the configuration in it.
struct scratch {
  explicit scratch(const char* name)
    : root{fs::temp_directory_path()
           / fmt::format("swage-{}-{}", name, ::getpid())} {
    fs::create_directories(root);
    std::ofstream{root / "x.toml"} << settings_text;
  }
  ~scratch() { fs::remove_all(root); }

  /// A module that computes `body` of x.
  std::string module(const std::string& file, const std::string& body) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream{root / file} << fmt::format(
      "import torch\nimport torch.nn as nn\n\n\n"
      "class Model(nn.Module):\n    def forward(self, x):\n"
      "        return {}\n\n\n"
      "def get_inputs():\n    return [torch.rand(8, 16)]\n\n\n"
      "def get_init_inputs():\n    return []\n",
      body);
    return (root / file).string();
  }

  fs::path root;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a fork trains on from its checkpoint", "[system][slow][fork]") {
  scratch here{"fork"};
  auto& root = here.root;
  auto before = root / "before", after = root / "after";
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
}

TEST_CASE("what a run left is shown and used", "[system][slow]") {
  scratch here{"used"};
  auto run = (here.root / "run").string();
  train(here.root, {"--out", run, "--set",
                    "tasks.operators=tanh,sigmoid,abs,sin,exp,add,mul,sum"});
  auto shown = run_swage(here.root, {"inspect", run});
  CHECK(contains(shown, "sft"));
  CHECK(contains(shown, "Samples by category"));
  CHECK(contains(run_swage(here.root, {"inspect", run, "--json"}),
                 "\"stages\""));
  CHECK(contains(run_swage(here.root, {"inspect", run, "--topology"}),
                 "rollout"));
  auto file = (here.root / "x.toml").string();
  CHECK(contains(run_swage(here.root, {"eval", file, "--checkpoint", run,
                                       "--samples", "2"}),
                 "Avg@2"));
  auto again = train(here.root, {"--out", run, "--resume"});
  CHECK(contains(again, "was over already: nothing was done"));
  CHECK(contains(shown, "It is over."));
  // Two steps teach nothing: no sample is right, and that is what is said.
  auto task = here.module("own.py", "torch.relu(x)");
  shown = run_swage(here.root,
                    {"write", "--checkpoint", run, "--task", task, "--samples",
                     "2"},
                    1);
  CHECK(contains(shown, "none of 2 samples is a correct kernel"));
  CHECK(contains(shown, "operators (relu)"));
}

TEST_CASE("a taught policy writes a kernel for one's own module",
          "[system][slow]") {
  scratch here{"write"};
  std::vector<std::string> files;
  for (auto* name : {"relu", "tanh", "sigmoid", "abs", "sin"})
    files.push_back(here.module(fmt::format("ours/{}.py", name),
                                fmt::format("torch.{}(x)", name)));
  auto run = (here.root / "run").string();
  train(here.root,
        {"--out", run, "--set", "run.checkpoint_interval=200", "--set",
         "learner.sft_steps=200", "--set", "rollout.max_new_tokens=256",
         "--set", "learner.sft_lr=3e-3", "--set",
         fmt::format("tasks.suite={}", (here.root / "ours").string())});
  // Four of the five are taught; which ones is drawn.
  int found = 0;
  for (auto& file : files) {
    auto told = here.root / "told";
    fs::remove(told);
    process asked{fs::path{std::getenv("SWAGE_BIN")} / "swage",
                  {"write", "--checkpoint", run, "--task", file, "--samples",
                   "4", "--temperature", "0.3", "--json"},
                  told};
    auto code = asked.wait(300);
    auto text = content(told);
    INFO(text);
    if (code != 0)
      continue;
    ++found;
    auto object = nlohmann::json::parse(text.substr(text.find("{\"found\"")));
    CHECK(object["found"] == true);
    CHECK(object["right"] >= 1);
    CHECK(object["verdict"]["category"] == "ok");
    CHECK(contains(object["source"], "kernel("));
  }
  CHECK(found >= 3);
}

TEST_CASE("a run takes its tasks from a folder of modules",
          "[system][slow]") {
  scratch here{"suite"};
  for (auto* name : {"relu", "tanh", "sigmoid", "abs", "sin"})
    here.module(fmt::format("ours/{}.py", name), fmt::format("torch.{}(x)", name));
  auto suite = fmt::format("tasks.suite={}", (here.root / "ours").string());
  auto run = here.root / "run";
  train(here.root, {"--out", run.string(), "--set", suite});
  auto states = run_record::open(run / "run.db")->states();
  REQUIRE(states);
  uint64_t collected = 0;
  for (auto& one : *states)
    collected += one.state == "collected" ? one.items : 0;
  CHECK(collected == 4);
}

TEST_CASE("a suite that nothing is taught of ends the run at once",
          "[system][slow]") {
  scratch here{"unknown"};
  for (auto* name : {"erfinv", "digamma", "lgamma"})
    here.module(fmt::format("ours/{}.py", name),
                fmt::format("torch.{}(x / 2 + 0.25)", name));
  auto suite = fmt::format("tasks.suite={}", (here.root / "ours").string());
  auto told = train(here.root, {"--out", (here.root / "run").string(), "--set",
                                suite, "--set", "tasks.train=2"},
                    4);
  CHECK(contains(told, "the stages before collected none"));
}
