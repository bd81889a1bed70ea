#include "runtime/task/recipes.hpp"

#include "runtime/task/compose.hpp"
#include "runtime/task/sizes.hpp"

#include <algorithm>
#include <array>

namespace swage {

namespace {

/// All rows of some families that a recipe may draw from.
std::vector<const operator_row*> rows_of(std::initializer_list<family> kinds) {
  std::vector<const operator_row*> found;
  for (auto& row : operators())
    if (std::ranges::find(kinds, row.kind) != kinds.end())
      found.push_back(&row);
  return found;
}

view draw_view(draw& random, size_t rank) {
  constexpr std::array weights = {0.8, 0.12, 0.04, 0.04};
  return rank == 2 ? static_cast<view>(random.weighted(weights))
                   : view::contiguous;
}

/// Adds what an axis operator needs beside its operand.
void set_axis(composer& out, size_t rank) {
  auto& node = out.last();
  auto kind = node.row->kind;
  auto last_axis = static_cast<int>(rank) - 1;
  if (node.row->has(needs_divisible)) {
    node.axis = 0;
    node.count = int64_t{1} << out.random().between(1, 3);
    return;
  }
  bool weighted = node.row->parameters[0] != parameter_kind::none;
  node.axis = weighted ? last_axis
                       : static_cast<int>(out.random().between(0, last_axis));
  if (kind == family::reduce)
    node.keepdim = out.random().chance(0.3);
}

/// Orders of three dimensions that are not the identity.
constexpr std::array<std::array<int, 3>, 5> orders = {
  {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

void set_layout(composer& out, size_t rank) {
  auto& node = out.last();
  std::string_view name = node.row->name;
  if (name == "transpose") {
    node.order = {1, 0};
  } else if (name == "permute") {
    auto& order = out.random().pick(orders);
    node.order.assign(order.begin(), order.end());
  } else {
    node.axis = static_cast<int>(
      out.random().between(0, static_cast<int64_t>(rank) - 1));
    if (name == "roll")
      node.count = out.random().between(1, 3);
  }
}

size_t layout_rank(draw& random, const operator_row& row) {
  if (std::string_view{row.name} == "transpose")
    return 2;
  return row.has(needs_rank3) || random.chance(0.4) ? 3 : 2;
}

int add_input_like(composer& out, size_t rank, draw& random) {
  auto shape = out.current().inputs[0].shape;
  bool strided = out.current().inputs[0].how != view::contiguous;
  return out.input(shape, strided ? view::contiguous : draw_view(random, rank));
}

/// One element-wise chain of `count` operators.
program draw_chain(draw& random, int level, int count) {
  composer out{random, level};
  auto rank = static_cast<size_t>(random.between(1, level == 1 ? 4 : 3));
  auto x = out.input(draw_shape(random, rank), draw_view(random, rank));
  std::vector<int> same = {x};
  if (level > 1 && random.chance(0.5))
    same.push_back(add_input_like(out, rank, random));
  auto made = out.chain(x, count, nullptr, same);
  if (static_cast<int>(out.current().nodes.size()) < count)
    out.chain(made, 1, nullptr, {});
  return out.current();
}

/// Element-wise, then an axis operator, then element-wise.
program draw_axis(draw& random, int level, int before, int after) {
  static const auto rows = rows_of(
    {family::reduce, family::normalise, family::scan});
  auto* row = random.pick(rows);
  composer out{random, level};
  size_t rank = row->has(needs_rank3) || random.chance(0.3) ? 3 : 2;
  auto x = out.input(draw_shape(random, rank), draw_view(random, rank));
  std::vector<int> same = {x};
  if (before > 0 && random.chance(0.3))
    same.push_back(add_input_like(out, rank, random));
  auto v = out.chain(x, before, row, same);
  v = out.apply(*row, v);
  set_axis(out, rank);
  auto wide = row->kind == family::reduce ? std::vector<int>{} : same;
  out.chain(v, after, nullptr, wide);
  return out.current();
}

program draw_layout(draw& random, int level, int before, int after) {
  static const auto rows = rows_of({family::layout});
  auto* row = random.pick(rows);
  composer out{random, level};
  auto rank = layout_rank(random, *row);
  auto x = out.input(draw_shape(random, rank));
  auto v = out.chain(x, before, nullptr, {x});
  v = out.apply(*row, v);
  set_layout(out, rank);
  out.chain(v, after, nullptr, {});
  return out.current();
}

program draw_loss(draw& random, int level, int before) {
  static const auto rows = rows_of({family::loss});
  auto* row = random.pick(rows);
  composer out{random, level};
  auto rank = static_cast<size_t>(random.between(1, 3));
  auto x = out.input(draw_shape(random, rank), draw_view(random, rank));
  auto target = add_input_like(out, rank, random);
  auto v = out.chain(x, before, row, {x});
  out.apply(*row, v, target);
  return out.current();
}

program draw_product(draw& random, int level, int after) {
  static const auto rows = rows_of({family::linear, family::matmul});
  auto* row = random.pick(rows);
  composer out{random, level};
  auto shape = draw_product_shape(random, random.chance(0.3) ? 3 : 2);
  auto x = out.input(shape.left);
  int other = -1;
  if (row->kind == family::matmul) {
    auto right = shape.right;
    if (row->has(transposed_other))
      std::swap(right.back(), right.end()[-2]);
    bool flat = right.size() == 2 && !row->has(transposed_other);
    other = out.input(right, flat && random.chance(0.25) ? view::transposed
                                                         : view::contiguous);
  }
  auto v = out.apply(*row, x, other);
  if (row->kind == family::linear)
    out.last().count = shape.right.back();
  out.chain(v, after, nullptr, {});
  return out.current();
}

program draw_one(draw& random) {
  // By how many rows the families have, so that each operator is as likely.
  constexpr std::array weights = {48.0, 18.0, 22.0, 5.0, 7.0, 6.0};
  switch (random.weighted(weights)) {
  case 0:
    return draw_chain(random, 1, 1);
  case 1: {
    composer out{random, 1};
    static const auto rows = rows_of({family::binary, family::parameter});
    auto* row = random.pick(rows);
    auto rank = row->has(needs_rank3)
                  ? size_t{3}
                  : static_cast<size_t>(random.between(1, 3));
    auto x = out.input(draw_shape(random, rank), draw_view(random, rank));
    int other = row->kind == family::binary ? add_input_like(out, rank, random)
                                            : -1;
    out.apply(*row, x, other);
    return out.current();
  }
  case 2:
    return draw_axis(random, 1, 0, 0);
  case 3:
    return draw_layout(random, 1, 0, 0);
  case 4:
    return draw_loss(random, 1, 0);
  default:
    return draw_product(random, 1, 0);
  }
}

program draw_composed(draw& random) {
  auto some = [&random](int low, int high) {
    return static_cast<int>(random.between(low, high));
  };
  constexpr std::array weights = {0.40, 0.36, 0.08, 0.08, 0.08};
  switch (random.weighted(weights)) {
  case 0: {
    auto length = some(2, 4);
    // From draws of their own, so that what is drawn next does not depend on
    // them.
    draw apart = random;
    auto what = draw_chain(random, 2, length);
    return length == 4 && apart.chance(0.5) ? draw_chain(apart, 2, 5) : what;
  }
  case 1: {
    auto before = some(0, 2);
    return draw_axis(random, 2, before, before > 0 ? some(0, 1) : some(1, 2));
  }
  case 2: {
    auto before = some(0, 1);
    return draw_layout(random, 2, before, before > 0 ? some(0, 1) : 1);
  }
  case 3:
    return draw_loss(random, 2, some(1, 2));
  default:
    return draw_product(random, 2, some(1, 2));
  }
}

} // namespace

program draw_program(draw& random, int level) {
  for (;;) {
    auto what = level == 1   ? draw_one(random)
                : level == 2 ? draw_composed(random)
                             : draw_block(random);
    if ((level == 1 || what.nodes.size() >= 2) && !is_degenerate(what))
      return what;
  }
}

} // namespace swage
