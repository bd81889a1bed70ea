#include "runtime/buffer/buffer_core.hpp"
#include "runtime/buffer/record.hpp"
#include "runtime/buffer/sqlite_journal.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/store/checkpoint.hpp"
#include "runtime/task/task_sets.hpp"
#include "tests/system/process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace swage;
using test::process;

namespace {

constexpr uint32_t rl_stage = 2;
constexpr uint64_t sft_steps = 6, rl_steps = 8;

/// What makes the shipped configuration a run of seconds. The policy is hardly
/// taught, so no kernel is right: what runs is the loop.
std::vector<std::string> overrides() {
  return {"run.checkpoint_interval=2",
          "tasks.train=12",
          "tasks.held_out=4",
          "rollout.max_live=16",
          "rollout.group_size=2",
          "rollout.max_new_tokens=48",
          "buffer.groups_per_batch=2",
          "buffer.lease_ttl_s=20",
          fmt::format("learner.steps={}", rl_steps),
          fmt::format("learner.sft_steps={}", sft_steps),
          "learner.sft_batch=4",
          "learner.threads=1",
          "faults.detection_s=4",
          "faults.stall_timeout_s=120",
          "faults.drain_timeout_s=20"};
}

void replace(std::string& text, const std::string& from,
             const std::string& to) {
  auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

/// The shipped configuration at ports that are free, with two learner ranks.
std::string settings_text() {
  std::ifstream in{data_folder() / "configs" / "cluster-loopback.toml"};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  for (auto* port : {"4242", "4243", "4244"})
    replace(text, std::string{"127.0.0.1:"} + port,
            fmt::format("127.0.0.1:{}", test::free_port()));
  replace(text, "learner = 1", "learner = 2");
  return text;
}

/// The three processes of one run, each under its own parent.
class three_nodes {
public:
  three_nodes() {
    auto name = fmt::format("swage-system-{}", getpid());
    root_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(root_);
    std::ofstream{file()} << settings_text();
    for (auto* node : {"head", "writer", "trainer"})
      start(node);
  }

  ~three_nodes() {
    nodes_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  process& node(const std::string& name) {
    return nodes_.at(name);
  }

  /// Committed batches of the RL stage, as the journal says.
  uint64_t committed() const {
    auto record = run_record::open(folder("head") / "run.db");
    if (!record)
      return 0;
    auto batches = record->batches();
    if (!batches)
      return 0;
    uint64_t n = 0;
    for (auto& one : *batches)
      n += one.stage == rl_stage && one.committed;
    return n;
  }

  /// Waits until `n` batches of the RL stage are committed.
  bool reaches(uint64_t n, double limit_s) {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::duration<double>(limit_s);
    while (committed() < n && clock::now() < end && !node("head").poll())
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    return committed() >= n;
  }

  std::filesystem::path file() const {
    return root_ / "run.toml";
  }

  std::filesystem::path folder(const std::string& node) const {
    return root_ / node;
  }

  std::string output(const std::string& node) const {
    std::ifstream in{root_ / (node + ".out")};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

private:
  void start(const std::string& node) {
    auto* bin = std::getenv("SWAGE_BIN");
    REQUIRE(bin);
    std::vector<std::string> arguments = {
      "train", file().string(), "--node", node, "--out", folder(node).string()};
    for (auto& one : overrides())
      arguments.insert(arguments.end(), {"--set", one});
    nodes_.emplace(node, process{std::filesystem::path{bin} / "swage",
                                 arguments, root_ / (node + ".out")});
  }

  std::filesystem::path root_;
  std::map<std::string, process> nodes_;
};

/// The journal is whole, and the learner's last checkpoint is of its chain.
void check_record(const three_nodes& run) {
  auto record = run_record::open(run.folder("head") / "run.db");
  REQUIRE(record);
  auto batches = record->batches().value();
  REQUIRE(batches.size() == sft_steps + rl_steps);
  for (uint64_t s = 1; s <= batches.size(); ++s) {
    CHECK(batches[s - 1].step == s);
    CHECK(batches[s - 1].committed);
  }
  const auto states = record->states().value();
  for (auto& one : states) {
    CAPTURE(one.stage, one.state);
    CHECK((one.state == "assigned" || one.state == "scored"
           || one.state == "collected" || one.state == "discarded"));
    CHECK((one.state != "discarded" || one.reason != "none"));
  }
  auto kept = checkpoint_store{run.folder("trainer") / "checkpoints", 3}
                .newest_valid();
  REQUIRE(kept);
  CHECK(kept->step == batches.size());
  CHECK(kept->hash == batches.back().hash);
  // Opening recomputes the chain from the members of every batch.
  auto settings = load_config(run.file(), overrides());
  REQUIRE(settings);
  auto journal = sqlite_journal::open(run.folder("head") / "run.db");
  REQUIRE(journal);
  auto core = buffer_core::open(std::move(*journal), *settings,
                                *load_task_sets(*settings), 0);
  REQUIRE(core);
  CHECK((*core)->over());
}

} // namespace

TEST_CASE("a run survives the death of each of its processes",
          "[system][slow]") {
  three_nodes run;
  uint64_t seen = 1;
  REQUIRE(run.reaches(seen, 240));
  for (auto* name : {"trainer", "writer", "head"}) {
    INFO("killing " << name << "\n" << run.output(name));
    REQUIRE(run.node(name).signal_child(SIGKILL));
    REQUIRE(run.reaches(++seen, 240));
  }
  for (auto* name : {"head", "writer", "trainer"}) {
    auto code = run.node(name).wait(300);
    INFO(name << ":\n" << run.output(name));
    REQUIRE(code);
    CHECK(*code == 0);
  }
  check_record(run);
}

TEST_CASE("an interrupted run ends in order with a checkpoint", "[system][slow]") {
  three_nodes run;
  REQUIRE(run.reaches(1, 240));
  CHECK(run.output("trainer")
          .find("learner.threads = 1 is less than actors.learner = 2")
        != std::string::npos);
  run.node("head").signal(SIGTERM);
  for (auto* name : {"head", "writer", "trainer"}) {
    auto code = run.node(name).wait(60);
    INFO(name << ":\n" << run.output(name));
    REQUIRE(code);
    CHECK(*code == 0);
  }
  auto kept = checkpoint_store{run.folder("trainer") / "checkpoints", 3}
                .newest_valid();
  REQUIRE(kept);
  CHECK(kept->step == sft_steps + run.committed());
}
