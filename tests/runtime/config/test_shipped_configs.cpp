#include "runtime/config/config_text.hpp"
#include "runtime/config/knobs.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace swage;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

/// What a file needs that is not built, and what stands in for it here.
struct lack {
  std::string named;
  std::vector<std::string> stand_in;
};

const std::map<std::string, lack> lacks = {
  {"published-cuda.toml",
   {"verifier.target = \"cuda\"",
    {"verifier.target=cpu", "verifier.form=function"}}},
  {"published-musa.toml",
   {"verifier.target = \"musa\"",
    {"verifier.target=cpu", "verifier.form=function"}}},
};

TEST_CASE("every shipped configuration loads", "[runtime][config]") {
  size_t files = 0, lacking = 0;
  for (auto& entry :
       std::filesystem::directory_iterator{data_folder() / "configs"}) {
    if (entry.path().extension() != ".toml")
      continue;
    ++files;
    CAPTURE(entry.path());
    auto loaded = load_config(entry.path());
    INFO((loaded ? "" : loaded.error().message));
    auto known = lacks.find(entry.path().filename().string());
    if (known == lacks.end()) {
      CHECK(loaded.has_value());
      continue;
    }
    // Refused by the name of what is missing, and for nothing else.
    ++lacking;
    REQUIRE_FALSE(loaded.has_value());
    CHECK(loaded.error().code == ec::unsupported);
    CHECK(loaded.error().message.starts_with(known->second.named));
    auto rest = load_config(entry.path(), known->second.stand_in);
    INFO((rest ? "" : rest.error().message));
    CHECK(rest.has_value());
  }
  CHECK(files > lacking);
  CHECK(lacking == lacks.size());
}

TEST_CASE("the quickstart documents every knob itself", "[runtime][config]") {
  auto file = data_folder() / "configs" / "quickstart.toml";
  auto text = content(file);
  auto loaded = load_config(file);
  REQUIRE(loaded.has_value());
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    auto documented = fmt::format("\n# {}\n# ({})\n{} = {}\n", row.help,
                                  expectation(row), row.key,
                                  value_text(row, *loaded));
    CHECK(text.find(documented) != std::string::npos);
  }
  // Below its introduction the file is what a run writes as config.toml.
  CHECK(text.ends_with(config_text(*loaded)));
}
