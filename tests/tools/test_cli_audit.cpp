#include "tests/tools/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using swage::test::scratch;

namespace {

/// Written as in KernelBench, with this result.
std::string module_of(const std::string& value) {
  return "import torch\nimport torch.nn as nn\n\n\n"
         "class Model(nn.Module):\n    def forward(self, x):\n        return "
         + value
         + "\n\n\ndef get_inputs():\n    return [torch.rand(64, 32)]\n";
}

auto audit(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"tasks", "audit"});
  return swage::test::swage(arguments);
}

} // namespace

TEST_CASE("an audit's wrong use is two", "[tools][cli]") {
  scratch folder;
  auto task = folder.file("t.py", module_of("x * 2"));
  for (auto arguments :
       {std::vector<std::string>{},
        {folder.path("missing.py")},
        {folder.path("missing")},
        {folder.file("x.py", "x = 1\n")},
        {folder.file("x.jsonl", "no json\n")},
        {task, "--mutants", "0"},
        {task, "--min-share", "1.5"},
        {task, "--set", "tasks.seed=1"}}) {
    auto told = audit(arguments);
    CHECK(told.code == 2);
    CHECK(told.out.empty());
    CHECK_FALSE(told.err.empty());
  }
}

TEST_CASE("an audit names weak tasks and their survivors", "[tools][cli]") {
  scratch folder;
  std::filesystem::create_directories(folder.path("all"));
  folder.file("all/strong.py", module_of("torch.relu(x * 2 + 1)"));
  folder.file("all/weak.py", module_of("torch.relu(x.sqrt())"));
  folder.file("all/random.py", module_of("torch.rand_like(x)"));
  auto told = audit({folder.path("all")});
  INFO(told.out << told.err);
  CHECK(told.code == 1);
  CHECK_THAT(told.out, ContainsSubstring("and 1 more"));
  CHECK_THAT(told.out, ContainsSubstring("2 tasks, 1 left out"));
  CHECK_THAT(told.out, ContainsSubstring("1 weak: weak\n"));
  CHECK_THAT(told.err, ContainsSubstring("task random is left out"));

  told = audit({folder.path("all"), "--json"});
  CHECK(told.code == 1);
  std::istringstream lines{told.out};
  for (std::string line; std::getline(lines, line);) {
    auto row = json::parse(line);
    CAPTURE(line);
    if (row["id"] == "random")
      CHECK(row.contains("left_out"));
    else
      CHECK(row["weak"] == (row["id"] == "weak"));
    if (row["id"] == "weak")
      CHECK(row["survivors"].size() == 3);
  }
  CHECK(audit({folder.path("all"), "--min-share", "0.1"}).code == 0);
}

TEST_CASE("an audit without a task that runs is two", "[tools][cli]") {
  scratch folder;
  auto told = audit({folder.file("t.py", module_of("torch.rand_like(x)"))});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("no task could be audited"));
}
