#include "runtime/task/json_lines.hpp"

#include "runtime/task/text_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <utility>

namespace swage {

result<void> read_json_lines(const std::filesystem::path& file,
                             const json_lines& how, const row_taker& take) {
  auto text = read_text_file(file, how.what, how.max_bytes);
  if (!text)
    return tl::unexpected(text.error());
  return parse_json_lines(std::move(*text), file, how, take);
}

result<void> parse_json_lines(std::string text,
                              const std::filesystem::path& file,
                              const json_lines& how, const row_taker& take) {
  std::istringstream lines{std::move(text)};
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    auto row = nlohmann::json::parse(line, nullptr, false);
    auto taken = row.is_object()
                   ? take(number, row)
                   : fail(ec::invalid_argument,
                          fmt::format("expected one JSON object with the "
                                      "fields {}",
                                      how.fields));
    if (!taken)
      return fail(ec::invalid_argument,
                  fmt::format("{}:{}: {}", file.string(), number,
                              taken.error().message));
  }
  return {};
}

result<void> distinct_ids::add(const std::string& id, size_t line) {
  auto [first, fresh] = lines_.emplace(id, line);
  if (!fresh)
    return fail(ec::invalid_argument,
                fmt::format("id '{}' occurs twice, first in line {}", id,
                            first->second));
  return {};
}

result<std::string> text_field(const nlohmann::json& row, const char* key) {
  auto found = row.find(key);
  if (found == row.end())
    return fail(ec::invalid_argument,
                fmt::format("field '{}' is missing", key));
  if (!found->is_string())
    return fail(ec::invalid_argument,
                fmt::format("field '{}': expected a string, found {}", key,
                            found->type_name()));
  return found->get<std::string>();
}

} // namespace swage
