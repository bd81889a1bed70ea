#include "tests/tools/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <filesystem>

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("a bench whose help fails is a failure", "[tools][ci]") {
  swage::test::scratch folder;
  auto program = [&](const std::string& name, const std::string& body) {
    fs::create_directories(fs::path{folder.path(name)}.parent_path());
    fs::permissions(folder.file(name, "#!/bin/sh\n" + body + "\n"),
                    fs::perms::owner_all);
  };
  program("shared/tools/check-rooms", "true");
  program("main/tools/test", "echo '5 passed, 0 failed'");
  program("main/tools/bench/a", "echo 'usage: a [--reduced]'");
  program("main/tools/bench/b", "echo 'usage: b'");
  program("main/tools/bench/c", "[ \"$1\" != --help ]");
  fs::create_directories(folder.path("main/.ci"));
  fs::copy(".ci/run", folder.path("main/.ci/run"));
  auto told = folder.path("told");
  auto command = "bash " + folder.path("main/.ci/run") + " >" + told + " 2>&1";
  CHECK(std::system(command.c_str()) != 0);
  auto text = swage::test::content(told);
  CHECK_THAT(text, ContainsSubstring("failed: tools/bench/c --help\n"));
  CHECK_THAT(text, ContainsSubstring("\n7 passed, 1 failed\n"));
}
