#include "runtime/observe/log.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace swage;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// A log folder of its own; the log is closed before it goes.
struct log_guard {
  std::filesystem::path folder = std::filesystem::temp_directory_path()
                                 / ("swage-log-" + std::to_string(::getpid()));

  ~log_guard() {
    (void) start_log({.stderr_level = log_level::warning});
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
  CHECK(std::regex_match(
    content(file),
    std::regex{"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z info first"
               "\\n\\S+ warning second\\n"}));
}

TEST_CASE("a reopened log continues the same file", "[runtime][observe]") {
  log_guard guard;
  auto file = guard.folder / "a.log";
  for (int i = 0; i < 2; ++i) {
    REQUIRE(start_log({.file = file}));
    log_info("once more");
  }
  auto text = content(file);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
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
  auto text = content(file);
  std::regex line{"\\S+ info a line of one thread\\n"};
  std::string rest = std::regex_replace(text, line, "");
  CHECK(rest.empty());
  CHECK(std::count(text.begin(), text.end(), '\n') == 400);
}

TEST_CASE("a log that cannot be written is named", "[runtime][observe]") {
  auto started = start_log({.file = "/proc/swage/a.log"});
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().code == ec::io);
  CHECK(started.error().message.find("/proc/swage/a.log") != std::string::npos);
}
