#include "runtime/task/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>

namespace swage {

namespace {

constexpr std::string_view view_letters = "cts2";

/// Reads a whole token as a number; false if anything is left.
template <class T>
bool number(std::string_view text, T& value) {
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(),
                                        value);
  return problem == std::errc{} && end == text.data() + text.size();
}

auto unreadable(const std::string& token, const char* expected) {
  return fail(ec::invalid_argument,
              fmt::format("in a serialised program: expected {}, found '{}'",
                          expected, token));
}

result<program_input> parse_input(const std::string& token) {
  program_input input;
  auto letter = token.empty() ? std::string_view::npos
                              : view_letters.find(token.back());
  if (letter == std::string_view::npos)
    return unreadable(token, "a shape and a view, such as 64x32:c");
  input.how = static_cast<view>(letter);
  std::istringstream sizes{token.substr(0, token.find(':'))};
  for (std::string part; std::getline(sizes, part, 'x');) {
    int64_t size = 0;
    if (!number(part, size))
      return unreadable(token, "a shape and a view, such as 64x32:c");
    input.shape.push_back(size);
  }
  return input;
}

/// One attribute of a node: a letter and its value.
bool parse_attribute(const std::string& token, program_node& node) {
  std::string_view value{token};
  value.remove_prefix(1);
  switch (token[0]) {
  case 'a':
    return number(value, node.other);
  case 'd':
    return number(value, node.axis);
  case 'k':
    node.keepdim = true;
    return value.empty();
  case 'g':
    return number(value, node.count);
  case 'c':
    return number(value, node.constants.emplace_back());
  case 'p':
    for (auto digit : value) {
      if (digit < '0' || digit > '9')
        return false;
      node.order.push_back(digit - '0');
    }
    return !value.empty();
  default:
    return false;
  }
}

result<program_node> parse_node(const std::string& text) {
  std::istringstream tokens{text};
  std::string token;
  program_node node;
  tokens >> token;
  node.row = find_operator(token);
  if (!node.row)
    return unreadable(token, "the name of an operator");
  tokens >> token;
  if (!number(token, node.operand))
    return unreadable(token, "the number of a value");
  while (tokens >> token)
    if (!parse_attribute(token, node))
      return unreadable(token, "an attribute of an operator");
  return node;
}

} // namespace

std::string serialise(const program& what) {
  auto text = fmt::format("{}", what.level);
  for (auto& input : what.inputs)
    text += fmt::format(" {}:{}", fmt::join(input.shape, "x"),
                        view_letters[static_cast<size_t>(input.how)]);
  for (auto& node : what.nodes) {
    text += fmt::format(";{} {}", node.row->name, node.operand);
    if (node.other >= 0)
      text += fmt::format(" a{}", node.other);
    for (auto constant : node.constants)
      text += fmt::format(" c{}", constant);
    if (node.axis != 0)
      text += fmt::format(" d{}", node.axis);
    if (node.keepdim)
      text += " k";
    if (node.count != 0)
      text += fmt::format(" g{}", node.count);
    if (!node.order.empty())
      text += fmt::format(" p{}", fmt::join(node.order, ""));
  }
  return text;
}

result<program> parse_program(const std::string& text) {
  program what;
  std::istringstream parts{text};
  std::string part, token;
  std::getline(parts, part, ';');
  std::istringstream header{part};
  header >> token;
  if (!number(token, what.level))
    return unreadable(token, "the program's level");
  while (header >> token) {
    auto input = parse_input(token);
    if (!input)
      return tl::unexpected(input.error());
    what.inputs.push_back(std::move(*input));
  }
  while (std::getline(parts, part, ';')) {
    auto node = parse_node(part);
    if (!node)
      return tl::unexpected(node.error());
    what.nodes.push_back(std::move(*node));
  }
  if (auto shapes = infer(what); !shapes)
    return tl::unexpected(shapes.error());
  return what;
}

} // namespace swage
