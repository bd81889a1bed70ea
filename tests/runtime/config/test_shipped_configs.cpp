#include "runtime/config/config_text.hpp"
#include "runtime/config/knobs.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace swage;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

TEST_CASE("every shipped configuration loads", "[runtime][config]") {
  size_t files = 0;
  for (auto& entry :
       std::filesystem::directory_iterator{data_folder() / "configs"})
    if (entry.path().extension() == ".toml") {
      CAPTURE(entry.path());
      auto loaded = load_config(entry.path());
      INFO((loaded ? "" : loaded.error().message));
      CHECK(loaded.has_value());
      ++files;
    }
  CHECK(files >= 1);
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
