#include "tools/swage/fork.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

using namespace swage;

namespace {

namespace fs = std::filesystem;

struct folder_guard {
  fs::path path = fs::temp_directory_path()
                  / ("swage-fork-" + std::to_string(::getpid()));
  folder_guard() { fs::create_directories(path); }
  ~folder_guard() { fs::remove_all(path); }
};

void write_checkpoint(const fs::path& run, uint64_t step) {
  checkpoint_store store{run / "checkpoints", 10};
  auto written = store.write({step, step * 11, "rl-single", {}},
                             [&](const fs::path& at) -> result<void> {
                               std::ofstream{at / "model.safetensors"}
                                 << "weights " << step;
                               return {};
                             });
  REQUIRE(written.has_value());
}

std::string content(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

TEST_CASE("a fork takes the checkpoint of its step", "[tools][fork]") {
  folder_guard guard;
  auto run = guard.path / "old", made = guard.path / "new";
  write_checkpoint(run, 25);
  write_checkpoint(run, 50);
  auto point = find_fork_point(run, 25);
  REQUIRE(point.has_value());
  CHECK(point->hash == 275);
  REQUIRE(copy_checkpoint(*point, made).has_value());
  auto at = forked_policy(made, *point);
  CHECK(at == made / "forked" / "v000025");
  CHECK(content(at / "model.safetensors") == "weights 25");
  // Whole: it is a checkpoint like any other.
  CHECK(checkpoint_store::open(at)->stage == "rl-single");
  // A fork that was interrupted is made again.
  CHECK(copy_checkpoint(*point, made).has_value());
}

TEST_CASE("a fork of no checkpoint lists those there are", "[tools][fork]") {
  folder_guard guard;
  auto run = guard.path / "old";
  CHECK(find_fork_point(run, 3).error().message
        == "--from " + run.string()
             + ": expected the folder of a run, found none");
  fs::create_directories(run);
  CHECK(find_fork_point(run, 3).error().message.ends_with("; it has none"));
  write_checkpoint(run, 50);
  write_checkpoint(run, 25);
  auto refused = find_fork_point(run, 3);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::not_found);
  CHECK(refused.error().message
        == "--fork 3: the run in " + run.string()
             + " has no checkpoint of that step; it has those of the steps "
               "25, 50");
}

TEST_CASE("a damaged checkpoint is not forked", "[tools][fork]") {
  folder_guard guard;
  write_checkpoint(guard.path, 25);
  std::ofstream{guard.path / "checkpoints/v000025/model.safetensors"} << "x";
  auto refused = find_fork_point(guard.path, 25);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::corrupt);
}
