#include "runtime/config/knobs.hpp"
#include "runtime/config/paths.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace swage;

namespace {

namespace fs = std::filesystem;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Whether `text` has `name` as a whole, and `accepted` holds for the
/// character behind it.
template <class Predicate>
bool names(std::string_view text, std::string_view name, Predicate accepted) {
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    auto end = at + name.size();
    auto next = end < text.size() ? text[end] : '\0';
    bool starts = name.front() == '.' || at == 0 || !is_word(text[at - 1]);
    if (starts && !is_word(next) && accepted(next))
      return true;
  }
  return false;
}

bool names(std::string_view text, std::string_view name) {
  return names(text, name, [](char) { return true; });
}

/// Whether a source file reads the knob's field: as table.key, or as .key where
/// it has the whole table by its type or by another name. Another field of the
/// same name passes too: this finds what nobody reads, not every mistake.
bool reads(std::string_view text, const knob& row) {
  if (names(text, row.path()))
    return true;
  auto not_a_member = [](char next) { return next != '.'; };
  bool has_table = names(text, fmt::format("{}_config", row.table))
                   || names(text, fmt::format(".{}", row.table), not_a_member);
  return has_table && names(text, fmt::format(".{}", row.key));
}

std::vector<std::string> sources() {
  std::vector<std::string> out;
  for (auto* room : {"runtime", "actors", "tools"})
    for (auto& entry : fs::recursive_directory_iterator{data_folder() / room}) {
      auto extension = entry.path().extension();
      bool is_config = entry.path().parent_path().filename() == "config";
      if ((extension != ".cpp" && extension != ".hpp") || is_config)
        continue;
      std::ifstream in{entry.path()};
      out.emplace_back(std::istreambuf_iterator<char>{in},
                       std::istreambuf_iterator<char>{});
    }
  return out;
}

/// Bounds that the loader alone applies: runtime/config/rules.cpp.
constexpr std::array of_the_loader = {"cluster.max_message_bytes"};

} // namespace

TEST_CASE("every knob is read outside of the loader", "[runtime][config]") {
  auto all = sources();
  REQUIRE(all.size() > 100);
  for (auto& row : knobs()) {
    CAPTURE(row.path());
    bool read = std::ranges::any_of(
      all, [&](auto& text) { return reads(text, row); });
    bool exempt = std::ranges::count(of_the_loader, row.path()) > 0;
    CHECK(read != exempt);
  }
}
