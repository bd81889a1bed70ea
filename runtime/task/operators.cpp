#include "runtime/task/operators.hpp"

#include "runtime/task/operator_rows.hpp"

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

} // namespace swage
