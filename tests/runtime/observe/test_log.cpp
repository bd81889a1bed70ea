#include "runtime/observe/log.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace swage;

namespace {

std::vector<std::string> lines(const std::filesystem::path& path) {
  std::ifstream in{path};
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);)
    all.push_back(line);
  return all;
}

/// The line with every digit as 0.
std::string shape(std::string line) {
  for (auto& c : line)
    if (c >= '0' && c <= '9')
      c = '0';
  return line;
}

/// A log folder of its own; the log is closed before it goes.
struct log_guard {
  std::filesystem::path folder = std::filesystem::temp_directory_path()
                                 / ("swage-log-" + std::to_string(::getpid()));

  ~log_guard() {
    (void) start_log({});
    std::filesystem::remove_all(folder);
  }
};

} // namespace

TEST_CASE("lines carry time and level into the file", "[runtime][observe]") {
  log_guard guard;
  auto file = guard.folder / "log" / "head.log";
  REQUIRE(start_log({.file = file, .stderr_level = log_level::error}));
  log_debug("not this one");
  log_info("first");
  log_warning("second");
  auto all = lines(file);
  REQUIRE(all.size() == 2);
  CHECK(shape(all[0]) == "0000-00-00T00:00:00.000Z info first");
  CHECK(shape(all[1]) == "0000-00-00T00:00:00.000Z warning second");
}

TEST_CASE("a reopened log continues the same file", "[runtime][observe]") {
  log_guard guard;
  auto file = guard.folder / "a.log";
  for (int i = 0; i < 2; ++i) {
    REQUIRE(start_log({.file = file}));
    log_info("once more");
  }
  CHECK(lines(file).size() == 2);
}

TEST_CASE("lines of many threads stay whole", "[runtime][observe]") {
  log_guard guard;
  auto file = guard.folder / "a.log";
  REQUIRE(start_log({.file = file}));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i)
          log_info("a line of one thread");
      });
  }
  auto all = lines(file);
  CHECK(all.size() == 400);
  for (auto& line : all)
    CHECK(line.ends_with("Z info a line of one thread"));
}

TEST_CASE("a log that cannot be written is named", "[runtime][observe]") {
  auto started = start_log({.file = "/proc/swage/a.log"});
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().code == ec::io);
  CHECK(started.error().message.find("/proc/swage/a.log") != std::string::npos);
}
