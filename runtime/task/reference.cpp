#include "runtime/task/reference.hpp"

#include "runtime/task/fill.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace swage {

namespace {

/// How often each value is an operand.
std::vector<int> uses(const program& what) {
  std::vector<int> counts(what.num_values());
  for (auto& node : what.nodes) {
    ++counts[static_cast<size_t>(node.operand)];
    if (node.other >= 0)
      ++counts[static_cast<size_t>(node.other)];
  }
  return counts;
}

/// A value that only the next line needs is `v`; others have their own name.
std::vector<std::string> value_names(const program& what) {
  auto counts = uses(what);
  std::vector<std::string> names;
  for (size_t i = 0; i < what.num_values(); ++i) {
    auto value = static_cast<int>(i);
    if (what.is_input(value)) {
      names.push_back(input_name(i));
      continue;
    }
    bool next_only = i + 1 == what.num_values()
                     || (counts[i] == 1
                         && what.node(value + 1).operand == value);
    names.push_back(next_only ? "v" : fmt::format("u{}", i));
  }
  return names;
}

std::string node_text(const program& what, int value,
                      const std::vector<std::string>& names,
                      const std::vector<program_parameter>& states) {
  auto& node = what.node(value);
  substitutions with = {
    {"v", names[static_cast<size_t>(node.operand)]},
    {"d", fmt::to_string(node.axis)},
    {"k", node.keepdim ? ", keepdim=True" : ""},
    {"g", fmt::to_string(node.count)},
    {"p", fmt::to_string(fmt::join(node.order, ", "))},
  };
  if (node.other >= 0)
    with.emplace_back("a", names[static_cast<size_t>(node.other)]);
  constexpr std::string_view keys[] = {"c0", "c1", "w", "w1"};
  for (size_t i = 0; i < node.constants.size(); ++i)
    with.emplace_back(keys[i], constant_text(node.constants[i]));
  size_t owned = 2;
  for (auto& state : states)
    if (state.value == value)
      with.emplace_back(keys[owned++], "self." + state.name);
  return fill(node.row->python, with);
}

std::string init_text(const program_parameter& parameter) {
  auto sizes = fmt::format("{}", fmt::join(parameter.shape, ", "));
  // Rows of a matrix have length one, so that magnitudes stay as they are.
  if (parameter.kind == parameter_kind::matrix)
    return fmt::format(
      "        self.{} = nn.Parameter(torch.randn({}) * {:.3f})\n",
      parameter.name, sizes,
      1 / std::sqrt(static_cast<double>(parameter.shape[1])));
  if (parameter.kind == parameter_kind::one)
    return fmt::format(
      "        self.{} = nn.Parameter(torch.rand({}) * 0.5 + 0.1)\n",
      parameter.name, sizes);
  return fmt::format("        self.{} = nn.Parameter(torch.randn({}))\n",
                     parameter.name, sizes);
}

std::string input_text(const program_input& input) {
  auto n = input.shape;
  switch (input.how) {
  case view::transposed:
    return fmt::format("torch.randn({}, {}).t()", n[1], n[0]);
  case view::sliced:
    return fmt::format("torch.randn({}, {})[:, :{}]", n[0],
                       n[1] + sliced_columns, n[1]);
  case view::stepped:
    return fmt::format("torch.randn({}, {})[:, ::2]", n[0], 2 * n[1]);
  default:
    return fmt::format("torch.randn({})", fmt::join(n, ", "));
  }
}

/// Results of views and of strided inputs are copied, so that both sides write
/// a contiguous result.
bool must_copy(const program& what) {
  for (auto& input : what.inputs)
    if (input.how != view::contiguous)
      return true;
  for (auto& node : what.nodes)
    if (node.row->kind == family::layout)
      return true;
  return false;
}

} // namespace

std::string constant_text(double value) {
  return fmt::format("{}", value);
}

std::string render_reference(const program& what) {
  auto shapes = infer(what);
  auto states = parameters(what, *shapes);
  auto names = value_names(what);
  std::string text = "import torch\nimport torch.nn as nn\n"
                     "import torch.nn.functional as F\n\n\n"
                     "class Model(nn.Module):\n"
                     "    def __init__(self):\n"
                     "        super().__init__()\n";
  for (auto& state : states)
    text += init_text(state);
  std::vector<std::string> arguments, inputs;
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    arguments.push_back(input_name(i));
    inputs.push_back(input_text(what.inputs[i]));
  }
  text += fmt::format("\n    def forward(self, {}):\n",
                      fmt::join(arguments, ", "));
  for (size_t i = what.inputs.size(); i < what.num_values(); ++i)
    text += fmt::format("        {} = {}\n", names[i],
                        node_text(what, static_cast<int>(i), names, states));
  text += fmt::format("        return v{}\n\n\n"
                      "def get_inputs():\n    return [{}]\n\n\n"
                      "def get_init_inputs():\n    return []\n",
                      must_copy(what) ? ".contiguous()" : "",
                      fmt::join(inputs, ", "));
  return text;
}

} // namespace swage
