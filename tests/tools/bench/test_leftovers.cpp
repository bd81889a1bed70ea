#include "tools/bench/leftovers.hpp"
#include "tools/bench/train_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace swage::bench;
namespace fs = std::filesystem;

namespace {

/// An empty folder that goes with the object.
struct folder {
  fs::path path = fs::temp_directory_path()
                  / ("swage-leftovers-" + std::to_string(getpid()));

  folder() { fs::create_directories(path); }
  ~folder() { fs::remove_all(path); }

  void file(const std::string& name) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream{path / name} << "x";
  }
};

bool any_line(const std::map<pid_t, std::string>& all,
              const std::string& part) {
  return std::ranges::any_of(
    all, [&](auto& one) { return one.second.find(part) != std::string::npos; });
}

} // namespace

TEST_CASE("a run's own files are no leftovers", "[bench][kills]") {
  folder at;
  for (auto* name :
       {"config.toml", "run.db", "run.db-wal", "run.db.lock", "metrics/events",
        "log/head.log", "checkpoints/v000003/manifest.json"})
    at.file(name);
  CHECK(stray_files(at.path, at.path / "tmp").empty());
  CHECK_FALSE(is_torn(at.path));
}

TEST_CASE("what is half written is a leftover", "[bench][kills]") {
  folder at;
  at.file("config.toml.17");
  at.file("checkpoints/.v000004.17/model.safetensors");
  at.file("checkpoints/v000003/manifest.json.17.tmp");
  at.file("tmp/swage-build-abc/out");
  auto found = stray_files(at.path, at.path / "tmp");
  for (auto* name :
       {"config.toml.17", "checkpoints/.v000004.17",
        "checkpoints/v000003/manifest.json.17.tmp", "tmp/swage-build-abc"})
    CHECK(std::ranges::count(found, (at.path / name).string()) == 1);
  CHECK(is_torn(at.path));
  // One that is being removed was whole.
  fs::rename(at.path / "checkpoints/.v000004.17",
             at.path / "checkpoints/.v000004.old");
  CHECK_FALSE(is_torn(at.path));
}

TEST_CASE("a process that outlives its parent stays in sight",
          "[bench][kills]") {
  adopt_orphans();
  folder at;
  auto pipe = at.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  auto program = at.path / "program";
  std::ofstream{program} << "#!/bin/sh\n"
                         << "cat " << pipe.string() << " &\nwait\n";
  fs::permissions(program, fs::perms::owner_all);
  train_command command;
  command.program = program;
  command.output = at.path / "out";
  train_process parent{command};
  while (!any_line(descendants(parent.pid()), "cat " + pipe.string()))
    continue;
  parent.kill();
  while (!parent.poll())
    continue;
  CHECK(*parent.poll() == 128 + SIGKILL);
  auto left = descendants(parent.pid());
  CHECK(any_line(left, "cat " + pipe.string()));
  CHECK_FALSE(left.contains(parent.pid()));
  std::ofstream{pipe}.close(); // The end of the file ends it.
  while (!descendants(parent.pid()).empty())
    continue;
}

TEST_CASE("words are what is between white space", "[bench][kills]") {
  CHECK(words("\n a=1  b=[1,2]\n")
        == std::vector<std::string>{"a=1", "b=[1,2]"});
}
