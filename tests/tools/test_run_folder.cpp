#include "tools/swage/run_folder.hpp"

#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

using namespace swage;

namespace {

namespace fs = std::filesystem;

struct folder_guard {
  fs::path path = fs::temp_directory_path()
                  / ("swage-run-" + std::to_string(::getpid()));
  ~folder_guard() { fs::remove_all(path); }
};

/// What the journal's first transaction leaves behind.
void begin_run(const fs::path& folder) {
  std::ofstream{folder / "run.db"} << "journal";
}

result<run_folder> open(const fs::path& path, const config& settings,
                        bool resume) {
  std::vector<std::string> notes;
  return run_folder::open(path, settings, resume, notes);
}

} // namespace

TEST_CASE("a new run keeps its resolved configuration", "[tools][run]") {
  folder_guard guard;
  config settings;
  settings.learner.steps = 7;
  auto folder = open(guard.path, settings, false);
  REQUIRE(folder.has_value());
  auto back = load_config(folder->config_file());
  REQUIRE(back.has_value());
  CHECK(config_text(*back) == config_text(settings));
}

TEST_CASE("an existing run is refused without resume", "[tools][run]") {
  folder_guard guard;
  REQUIRE(open(guard.path, {}, false).has_value());
  begin_run(guard.path);
  auto again = open(guard.path, {}, false);
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().message.find("--resume") != std::string::npos);
  CHECK(open(guard.path, {}, true).has_value());
}

TEST_CASE("where there is no run nothing is resumed", "[tools][run]") {
  folder_guard guard;
  auto refused = open(guard.path, {}, true);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::invalid_argument);
  CHECK(refused.error().message.find(guard.path.string()) != std::string::npos);
  CHECK_FALSE(fs::exists(guard.path));
}

TEST_CASE("a folder that cannot be is the user's mistake", "[tools][run]") {
  for (auto* path : {"/proc/self/stat/run", "/dev/null"}) {
    auto refused = open(path, {}, false);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ec::invalid_argument);
    CHECK(refused.error().message.find(path) != std::string::npos);
  }
  folder_guard guard;
  fs::create_directories(guard.path / "run.db");
  CHECK(open(guard.path, {}, true).error().code == ec::invalid_argument);
}

TEST_CASE("a fixed knob cannot change on resume", "[tools][run]") {
  folder_guard guard;
  REQUIRE(open(guard.path, {}, false).has_value());
  begin_run(guard.path);
  config other;
  other.run.seed = 9;
  auto refused = open(guard.path, other, true);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.starts_with(
    "run.seed = 9 differs from the run's own 1"));
}

TEST_CASE("another knob may change and is noted", "[tools][run]") {
  folder_guard guard;
  REQUIRE(open(guard.path, {}, false).has_value());
  begin_run(guard.path);
  config other;
  other.learner.steps = 9;
  std::vector<std::string> notes;
  auto folder = run_folder::open(guard.path, other, true, notes);
  REQUIRE(folder.has_value());
  CHECK(
    notes
    == std::vector<std::string>{"learner.steps was 100 and is 9 from here on"});
  CHECK(load_config(folder->config_file())->learner.steps == 9);
}

TEST_CASE("one process at a time holds a run", "[tools][run]") {
  folder_guard guard;
  auto first = open(guard.path, {}, false);
  REQUIRE(first.has_value());
  auto second = open(guard.path, {}, false);
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().message.find("running already") != std::string::npos);
  CHECK(run_folder::join(guard.path, {}, "far").has_value());
}

TEST_CASE("a run is running while a process holds it", "[tools][run]") {
  folder_guard guard;
  CHECK_FALSE(is_running(guard.path));
  {
    auto held = open(guard.path, {}, false);
    REQUIRE(held.has_value());
    CHECK(is_running(guard.path));
  }
  CHECK_FALSE(is_running(guard.path));
}

TEST_CASE("what is no run folder says why", "[tools][run]") {
  folder_guard guard;
  CHECK(check_is_run(guard.path).error().message.ends_with("is not a folder"));
  REQUIRE(open(guard.path, {}, false).has_value());
  CHECK(check_is_run(guard.path)
          .error()
          .message.ends_with("is not the folder of a run: it has no run.db"));
  begin_run(guard.path);
  CHECK(check_is_run(guard.path).has_value());
}

TEST_CASE("a process killed while it writes leaves nothing for good",
          "[tools][run]") {
  folder_guard guard;
  REQUIRE(open(guard.path, {}, false).has_value());
  begin_run(guard.path);
  std::ofstream{guard.path / "config.toml.new"} << "[run";
  REQUIRE(open(guard.path, {}, true).has_value());
  CHECK(load_config(guard.path / "config.toml").has_value());
  for (auto& entry : fs::directory_iterator(guard.path))
    CHECK((entry.path().filename() == "config.toml"
           || !entry.path().filename().string().starts_with("config")));
}
