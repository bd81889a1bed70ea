#include "runtime/task/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace swage {

namespace {

constexpr std::array view_names = {"c", "t", "s", "2"};

std::string indexed(const char* stem, size_t index) {
  return index == 0 ? std::string{stem} : fmt::format("{}{}", stem, index);
}

std::vector<int64_t> strides_of(const program_input& input) {
  if (input.shape.size() != 2)
    return {};
  auto rows = input.shape[0], columns = input.shape[1];
  switch (input.how) {
  case view::transposed:
    return {1, rows};
  case view::sliced:
    return {columns + sliced_columns, 1};
  case view::stepped:
    return {2 * columns, 2};
  default:
    return {};
  }
}

tensor_spec spec(std::string name, std::vector<int64_t> shape) {
  return {std::move(name), dtype::float32, std::move(shape), {}};
}

} // namespace

std::string input_name(size_t index) {
  return indexed("x", index);
}

std::string state_name(size_t index) {
  return indexed("w", index);
}

std::string output_name(size_t index) {
  return indexed("y", index);
}

std::string size_name(size_t input, size_t dimension) {
  return indexed("n", input) + static_cast<char>('a' + dimension);
}

std::string stride_name(size_t input, size_t dimension) {
  return indexed("s", input) + static_cast<char>('a' + dimension);
}

std::vector<program_parameter>
parameters(const program& what, const std::vector<value_shape>& shapes) {
  std::vector<program_parameter> found;
  for (size_t i = 0; i < what.nodes.size(); ++i) {
    auto& node = what.nodes[i];
    auto& sizes = shapes[static_cast<size_t>(node.operand)].sizes;
    for (auto kind : node.row->parameters) {
      if (kind == parameter_kind::none)
        continue;
      std::vector<int64_t> shape;
      if (kind == parameter_kind::one)
        shape = {1};
      else if (kind == parameter_kind::channel)
        shape = {sizes[1]};
      else if (kind == parameter_kind::last)
        shape = {sizes.back()};
      else if (kind == parameter_kind::matrix)
        shape = {node.count, sizes.back()};
      else
        shape = {node.count};
      auto value = static_cast<int>(what.inputs.size() + i);
      found.push_back({state_name(found.size()), value, kind, shape});
    }
  }
  return found;
}

result<signature> signature_of(const program& what) {
  auto shapes = infer(what);
  if (!shapes)
    return tl::unexpected(shapes.error());
  signature args;
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    args.inputs.push_back(spec(input_name(i), what.inputs[i].shape));
    args.inputs.back().strides = strides_of(what.inputs[i]);
  }
  for (auto& parameter : parameters(what, *shapes))
    args.state.push_back(spec(parameter.name, parameter.shape));
  args.outputs.push_back(spec(output_name(0), shapes->back().sizes));
  return args;
}

std::string canonical(const program& what) {
  std::string text;
  for (auto& input : what.inputs)
    text += fmt::format("{}{} ", input.shape.size(),
                        view_names[static_cast<size_t>(input.how)]);
  for (auto& node : what.nodes) {
    text += fmt::format("{} {}", node.row->name, node.operand);
    if (node.other >= 0)
      text += fmt::format(" {}", node.other);
    auto kind = node.row->kind;
    bool rolls = kind == family::layout && node.order.empty();
    if (kind == family::reduce || kind == family::normalise
        || kind == family::scan || rolls)
      text += fmt::format(" d{}", node.axis);
    if (node.keepdim)
      text += " k";
    if (!node.order.empty())
      text += fmt::format(" p{}", fmt::join(node.order, ""));
    text += ';';
  }
  return text;
}

} // namespace swage
