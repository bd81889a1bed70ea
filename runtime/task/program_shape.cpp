#include "runtime/task/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace swage {

namespace {

using shapes_type = std::vector<value_shape>;

auto bad(const program_node& node, std::string what) {
  return fail(ec::invalid_argument,
              fmt::format("operator '{}': {}", node.row->name, what));
}

std::string shape_text(const value_shape& shape) {
  return fmt::format("({})", fmt::join(shape.sizes, ", "));
}

/// What all nodes must satisfy before their result's shape is computed.
result<void> check(const program_node& node, const shapes_type& shapes) {
  auto known = static_cast<int>(shapes.size());
  if (node.operand < 0 || node.operand >= known || node.other >= known)
    return bad(node, fmt::format("operands {} and {}, but only {} values "
                                 "come before it",
                                 node.operand, node.other, known));
  auto kind = node.row->kind;
  bool two = kind == family::binary || kind == family::matmul
             || kind == family::loss;
  if (two != (node.other >= 0))
    return bad(node, two ? "a second operand is missing"
                         : "a second operand was given");
  size_t used = 0;
  for (auto& range : node.row->constants)
    used += range.used();
  if (node.constants.size() != used)
    return bad(node, fmt::format("{} constants expected, {} found", used,
                                 node.constants.size()));
  auto& shape = shapes[static_cast<size_t>(node.operand)];
  auto rank = static_cast<int>(shape.sizes.size());
  if (node.axis < 0 || (node.axis > 0 && node.axis >= rank))
    return bad(
      node, fmt::format("axis {} of shape {}", node.axis, shape_text(shape)));
  if (node.row->has(needs_rank3) && rank != 3)
    return bad(node,
               "shape " + shape_text(shape) + ", expected three dimensions");
  if (node.row->has(needs_divisible)
      && (node.count < 1 || shape.sizes[1] % node.count != 0))
    return bad(node, fmt::format("{} groups of {} channels", node.count,
                                 shape.sizes[1]));
  return {};
}

result<value_shape> same(const program_node& node, const value_shape& shape,
                         const value_shape& other) {
  if (shape.sizes != other.sizes)
    return bad(node, "shapes " + shape_text(shape) + " and " + shape_text(other)
                       + " differ");
  return shape;
}

value_shape reduced(const program_node& node, value_shape shape) {
  auto at = node.axis;
  if (node.keepdim) {
    shape.sizes[static_cast<size_t>(at)] = 1;
    shape.names[static_cast<size_t>(at)] = "1";
    return shape;
  }
  shape.sizes.erase(shape.sizes.begin() + at);
  shape.names.erase(shape.names.begin() + at);
  return shape;
}

result<value_shape> reordered(const program_node& node,
                              const value_shape& shape) {
  if (node.order.empty())
    return shape;
  auto sorted = node.order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i) || sorted.size() != shape.sizes.size())
      return bad(node, fmt::format("order {} of shape {}", node.order,
                                   shape_text(shape)));
  value_shape out;
  for (auto old : node.order) {
    out.sizes.push_back(shape.sizes[static_cast<size_t>(old)]);
    out.names.push_back(shape.names[static_cast<size_t>(old)]);
  }
  return out;
}

result<value_shape> product(const program_node& node, value_shape left,
                            value_shape right) {
  if (node.row->has(transposed_other) && right.sizes.size() > 1) {
    std::swap(right.sizes.back(), right.sizes.end()[-2]);
    std::swap(right.names.back(), right.names.end()[-2]);
  }
  auto rank = left.sizes.size();
  bool fits = rank == right.sizes.size() && (rank == 2 || rank == 3)
              && left.sizes[rank - 1] == right.sizes[rank - 2]
              && (rank == 2 || left.sizes[0] == right.sizes[0]);
  if (!fits)
    return bad(node, "shapes " + shape_text(left) + " and " + shape_text(right)
                       + " cannot be multiplied");
  left.sizes.back() = right.sizes.back();
  left.names.back() = right.names.back();
  return left;
}

result<value_shape> shape_of(const program_node& node,
                             const shapes_type& shapes) {
  if (auto checked = check(node, shapes); !checked)
    return tl::unexpected(checked.error());
  auto& shape = shapes[static_cast<size_t>(node.operand)];
  switch (node.row->kind) {
  case family::binary:
    return same(node, shape, shapes[static_cast<size_t>(node.other)]);
  case family::reduce:
    return reduced(node, shape);
  case family::layout:
    return reordered(node, shape);
  case family::matmul:
    return product(node, shape, shapes[static_cast<size_t>(node.other)]);
  case family::loss: {
    auto both = same(node, shape, shapes[static_cast<size_t>(node.other)]);
    return both ? result<value_shape>{value_shape{}} : both;
  }
  case family::linear: {
    if (node.count < 1)
      return bad(node, fmt::format("{} features", node.count));
    auto out = shape;
    out.sizes.back() = node.count;
    out.names.back() = fmt::to_string(node.count);
    return out;
  }
  default:
    return shape;
  }
}

/// Dimensions that must be equal get one name: the first input's.
shapes_type input_shapes(const program& what) {
  shapes_type shapes;
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    value_shape shape{what.inputs[i].shape, {}};
    bool alike = i > 0 && shape.sizes == what.inputs[0].shape;
    for (size_t d = 0; d < shape.sizes.size(); ++d)
      shape.names.push_back(size_name(alike ? 0 : i, d));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

} // namespace

result<std::vector<value_shape>> infer(const program& what) {
  auto shapes = input_shapes(what);
  if (shapes.empty() || what.nodes.empty())
    return fail(ec::invalid_argument,
                "a program needs at least one input and one operator");
  for (auto& input : what.inputs)
    if (input.shape.empty()
        || std::ranges::any_of(input.shape, [](auto n) { return n < 1; })
        || (input.how != view::contiguous && input.shape.size() != 2))
      return fail(
        ec::invalid_argument,
        fmt::format("an input of shape ({}): expected positive sizes, "
                    "and two of them for a strided view",
                    fmt::join(input.shape, ", ")));
  for (auto& node : what.nodes) {
    auto shape = shape_of(node, shapes);
    if (!shape)
      return tl::unexpected(shape.error());
    shapes.push_back(std::move(*shape));
  }
  return shapes;
}

} // namespace swage
