#include "tests/tools/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A checkout with the project's CI in it and programs that a test writes.
struct checkout {
  checkout() {
    fs::create_directories(folder.path("main/.ci"));
    fs::copy(".ci/run", folder.path("main/.ci/run"));
  }

  void program(const std::string& name, const std::string& body) {
    fs::create_directories(fs::path{folder.path(name)}.parent_path());
    fs::permissions(folder.file(name, "#!/bin/sh\n" + body + "\n"),
                    fs::perms::owner_all);
  }

  /// What CI prints; it has to fail.
  std::string failing_run() {
    auto told = folder.path("told");
    auto command
      = "bash " + folder.path("main/.ci/run") + " >" + told + " 2>&1";
    CHECK(std::system(command.c_str()) != 0);
    return swage::test::content(told);
  }

  swage::test::scratch folder;
};

} // namespace

TEST_CASE("a bench whose help fails is a failure", "[tools][ci]") {
  checkout here;
  here.program("shared/tools/check-rooms", "true");
  here.program("main/tools/test", "echo '5 passed, 0 failed'");
  here.program("main/tools/bench/a", "echo 'usage: a [--reduced]'");
  here.program("main/tools/bench/b", "echo 'usage: b'");
  here.program("main/tools/bench/c", "[ \"$1\" != --help ]");
  auto text = here.failing_run();
  CHECK_THAT(text, ContainsSubstring("failed: tools/bench/c --help\n"));
  CHECK_THAT(text, ContainsSubstring("\n7 passed, 1 failed\n"));
}

TEST_CASE("a rule of the rooms that is broken is a failure", "[tools][ci]") {
  checkout here;
  here.program("shared/tools/check-rooms", "exit 1");
  here.program("main/tools/test", "echo '5 passed, 0 failed'");
  here.program("main/tools/bench/a", "echo 'usage: a [--reduced]'");
  CHECK_THAT(here.failing_run(), ContainsSubstring("failed: check-rooms\n"));
}

TEST_CASE("without the shared folder nothing is tested", "[tools][ci]") {
  checkout here;
  here.program("main/tools/test", "touch tested; echo '5 passed, 0 failed'");
  CHECK_THAT(here.failing_run(),
             ContainsSubstring("with tools/check-rooms in it; found none"));
  CHECK_FALSE(fs::exists(here.folder.path("main/tested")));
}

TEST_CASE("the README's host is the one that is built", "[tools][ci]") {
  auto readme = swage::test::content("README.md");
  auto host = swage::test::content("tests/system/embedded_verifier.cpp");
  auto begin = readme.find("```cpp\n");
  REQUIRE(begin != std::string::npos);
  begin += 7;
  std::istringstream lines{
    readme.substr(begin, readme.find("```\n", begin) - begin)};
  int seen = 0;
  for (std::string line; std::getline(lines, line); ++seen) {
    line = line.substr(0, line.find(" //"));
    line.erase(line.find_last_not_of(' ') + 1);
    CHECK_THAT(host, ContainsSubstring(line + "\n"));
  }
  CHECK(seen > 10);
}
