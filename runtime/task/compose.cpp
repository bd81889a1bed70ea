#include "runtime/task/compose.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace swage {

namespace {

// Stress inputs are tens of times as large: higher powers overflow or drown
// the smaller terms.
constexpr int max_degree = 4;

double drawn(draw& random, const constant_range& range) {
  auto steps = std::llround((range.high - range.low) / range.step);
  auto value = range.low
               + static_cast<double>(random.between(0, steps)) * range.step;
  return std::round(value * 10) / 10;
}

int degree_after(const operator_row& row, int degree, int other) {
  bool two = row.kind == family::binary || row.kind == family::matmul;
  if (two && row.degree == 2)
    return degree + other;
  if (two || row.kind == family::loss)
    return row.degree * std::max(degree, other);
  return row.degree * std::max(degree, row.degree > 1 ? 1 : 0);
}

bool accumulates(const operator_row& row) {
  std::string_view name = row.name;
  return name == "sum" || name == "l1norm" || name == "norm"
         || row.kind == family::scan || row.kind == family::matmul
         || row.kind == family::linear;
}

} // namespace

int composer::input(std::vector<int64_t> shape, view how) {
  what_.inputs.push_back({std::move(shape), how});
  facts_.emplace_back();
  return static_cast<int>(what_.inputs.size()) - 1;
}

composer::facts composer::after(const operator_row& row, const facts& before,
                                const facts* other) {
  facts now;
  now.row = &row;
  now.degree = degree_after(row, before.degree, other ? other->degree : 1);
  now.raw = before.raw && row.kind == family::layout;
  now.calm = (before.calm || row.degree == 0) && now.degree <= 1
             && !accumulates(row);
  bool alone = !other && row.parameters[0] == parameter_kind::none;
  // Of what is zero at zero only the sine changes signs, and what negates,
  // which no value of one sign is given to.
  bool keeps_sign = alone
                    && (row.has(rescales)
                        || (row.has(keeps_zero) && !row.has(calm_input))
                        || row.kind == family::layout
                        || row.kind == family::scan
                        || row.kind == family::reduce);
  now.nonneg = row.has(nonneg) || (before.nonneg && keeps_sign);
  now.nonpos = row.has(nonpos) || (before.nonpos && keeps_sign);
  now.small = row.has(small)
              || (before.small
                  && (row.has(rescales) || row.kind == family::layout));
  now.close = row.kind == family::reduce || (before.close && alone);
  now.discrete = row.has(discrete)
                 || (before.discrete && row.kind != family::normalise);
  now.from_zero = before.from_zero && row.has(keeps_zero);
  return now;
}

int composer::apply(const operator_row& row, int operand, int other) {
  program_node node;
  node.row = &row;
  node.operand = operand;
  node.other = other;
  for (auto& range : row.constants)
    if (range.used())
      node.constants.push_back(drawn(random_, range));
  facts_.push_back(
    after(row, known(operand), other < 0 ? nullptr : &known(other)));
  what_.nodes.push_back(std::move(node));
  return static_cast<int>(what_.num_values()) - 1;
}

int composer::apply(std::string_view name, int operand, int other) {
  return apply(*find_operator(name), operand, other);
}

bool composer::fits(const operator_row& row, const facts& before) {
  if (before.row == &row || degree_after(row, before.degree, 1) > max_degree)
    return false;
  if (row.has(input_only) && !before.raw)
    return false;
  if (row.has(calm_input) && !before.calm)
    return false;
  if (row.has(centers) && !before.from_zero)
    return false;
  if ((before.nonneg || before.nonpos)
      && (row.has(idle_on_nonneg) || row.has(signed_only)))
    return false;
  // A lower bound above all of a bounded value's range gives a constant.
  bool bounded = before.nonpos || before.degree == 0;
  if (bounded && std::string_view{row.name} == "max_c")
    return false;
  if (before.small && !row.has(rescales))
    return false;
  if (before.close && row.elementwise() && !row.has(spreads))
    return false;
  return !(before.discrete && row.has(picks));
}

bool composer::fits(const operator_row& row, int operand) const {
  return fits(row, known(operand));
}

std::vector<const operator_row*>
composer::usable(int operand, const operator_row* next, bool same_shape) const {
  bool channels = same_shape && what_.inputs[0].shape.size() == 3;
  std::vector<const operator_row*> rows;
  for (auto& row : operators()) {
    // Broadcast parameters and second operands need the inputs' shape.
    if (!row.elementwise() || !fits(row, operand)
        || (row.kind != family::unary && !same_shape)
        || (row.has(needs_rank3) && !channels))
      continue;
    facts input;
    auto* other = row.kind == family::binary ? &input : nullptr;
    if (!next || fits(*next, after(row, known(operand), other)))
      rows.push_back(&row);
  }
  return rows;
}

int composer::chain(int operand, int count, const operator_row* next,
                    const std::vector<int>& same_shape) {
  for (int i = 0; i < count; ++i) {
    auto rows = usable(operand, next, !same_shape.empty());
    if (rows.empty())
      return operand;
    auto* row = random_.pick(rows);
    int other = -1;
    if (row->kind == family::binary) {
      // An input with itself cancels or doubles; that is no second operand.
      std::vector<int> others;
      for (auto value : same_shape)
        if (value != operand)
          others.push_back(value);
      if (others.empty())
        continue;
      other = random_.pick(others);
    }
    operand = apply(*row, operand, other);
  }
  return operand;
}

} // namespace swage
