#include "runtime/task/compact_prompt.hpp"

#include "runtime/task/program.hpp"
#include "runtime/task/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace swage {

namespace {

std::string describe_inputs(const signature& args) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    auto& input = args.inputs[i];
    std::string letters;
    for (size_t d = 0; d < input.shape.size(); ++d)
      letters += static_cast<char>('a' + d);
    parts.push_back(fmt::format("{} {}{}", input_name(i), letters,
                                input.contiguous() ? "" : " strided"));
  }
  return fmt::format("{}\n", fmt::join(parts, ","));
}

std::string value_name(const program& what, int value) {
  return what.is_input(value)
           ? input_name(static_cast<size_t>(value))
           : fmt::format("#{}",
                         value - static_cast<int>(what.inputs.size()) + 1);
}

bool has_axis(const program_node& node) {
  auto kind = node.row->kind;
  return kind == family::reduce || kind == family::scan
         || (kind == family::normalise && !node.row->has(needs_divisible))
         || (kind == family::layout && node.order.empty());
}

std::string describe_node(const program& what, int value) {
  auto& node = what.node(value);
  std::string text = node.row->name;
  auto previous = what.is_input(value - 1) ? 0 : value - 1;
  if (node.operand != previous)
    text += " of " + value_name(what, node.operand);
  if (node.other >= 0)
    text += " " + value_name(what, node.other);
  for (auto constant : node.constants)
    text += " " + constant_text(constant);
  if (node.count != 0)
    text += fmt::format(" {}", node.count);
  if (has_axis(node))
    text += fmt::format(" {}", static_cast<char>('a' + node.axis));
  if (node.keepdim)
    text += " keep";
  if (!node.order.empty()) {
    text += ' ';
    for (auto old : node.order)
      text += static_cast<char>('a' + old);
  }
  return text + "\n";
}

/// The lines of `forward`, for a module that is known by its text only.
std::string forward_lines(const std::string& reference) {
  std::istringstream lines{reference};
  std::string line, text;
  size_t indent = std::string::npos;
  while (std::getline(lines, line)) {
    auto begin = line.find_first_not_of(' ');
    if (begin == line.npos)
      continue;
    if (line.compare(begin, 12, "def forward(") == 0) {
      indent = begin;
      continue;
    }
    if (indent == line.npos)
      continue;
    if (begin <= indent)
      break;
    text += line.substr(begin) + "\n";
  }
  return text;
}

} // namespace

std::string compact_description(const task& what) {
  auto text = describe_inputs(what.args);
  auto read = parse_program(what.program);
  if (what.program.empty() || !read)
    return text + forward_lines(what.reference);
  for (size_t i = read->inputs.size(); i < read->num_values(); ++i)
    text += describe_node(*read, static_cast<int>(i));
  return text;
}

} // namespace swage
