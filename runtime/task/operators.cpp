#include "runtime/task/operators.hpp"

#include "runtime/config/knobs.hpp"
#include "runtime/task/operator_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace swage {

std::span<const operator_row> operators() {
  static const auto rows = [] {
    std::vector<operator_row> all;
    for (auto part : {unary_operators(), mixed_operators(), axis_operators()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

const operator_row* find_operator(std::string_view name) {
  auto rows = operators();
  auto found = std::ranges::find_if(
    rows, [name](const operator_row& row) { return name == row.name; });
  return found == rows.end() ? nullptr : &*found;
}

std::optional<std::string> operator_complaint(std::string_view name) {
  if (name == "all" || find_operator(name))
    return std::nullopt;
  std::vector<std::string_view> names;
  for (auto& row : operators())
    names.push_back(row.name);
  auto near = nearest(name, names);
  return fmt::format("{} is not an operator; {}", toml_quote(name),
                     near.empty() ? fmt::format("expected all, or some of {}",
                                                fmt::join(names, " "))
                                  : fmt::format("did you mean \"{}\"?", near));
}

} // namespace swage
