#include "runtime/task/kernel_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace swage {

namespace {

constexpr std::array<const char*, 3> variables = {"i", "j", "k"};

/// Index of an element by Horner's rule: (i*nb+j)*nc+k.
std::string index_of(const std::vector<std::string>& at,
                     const std::vector<std::string>& sizes) {
  auto text = at[0];
  for (size_t d = 1; d < at.size(); ++d)
    text = fmt::format("{}*{}+{}", d == 1 ? text : "(" + text + ")", sizes[d],
                       at[d]);
  return text;
}

/// Where an element goes along the axis that is flipped or rolled.
std::string moved(const program_node& node, const std::string& at,
                  const std::string& size) {
  return std::string_view{node.row->name} == "flip"
           ? fmt::format("{}-1-{}", size, at)
           : fmt::format("({}+{})%{}", at, node.count, size);
}

} // namespace

void kernel_writer::move(const kernel_stage& stage) {
  auto& node = plan_.what.node(stage.core);
  auto& in = plan_.shape(stage.source).names;
  auto& out = plan_.shape(stage.core).names;
  auto rank = in.size();
  std::vector<std::string> at{variables.begin(),
                              variables.begin() + static_cast<long>(rank)};
  auto to = at;
  std::vector<size_t> nest(rank);
  for (size_t d = 0; d < rank; ++d)
    nest[d] = d;
  if (node.order.empty()) {
    auto d = static_cast<size_t>(node.axis);
    to[d] = moved(node, at[d], in[d]);
    if (d == 0 && rank > 1)
      to[0] = "(" + to[0] + ")";
  } else {
    for (size_t d = 0; d < rank; ++d) {
      to[d] = at[static_cast<size_t>(node.order[d])];
      // In the order of the result's lines, not of the operand's.
      if (form_.blocked)
        nest[d] = static_cast<size_t>(node.order[d]);
    }
  }
  loop_place place;
  place.flat = index_of(at, in);
  place.last = at[rank - 1];
  place.channel = rank == 3 ? at[1] : "";
  auto nodes = stage.before;
  nodes.insert(nodes.end(), stage.after.begin(), stage.after.end());
  auto inside = body(
    load(stage.source, place), nodes, place,
    fmt::format("{}[{}]", plan_.buffer(stage.result), index_of(to, out)));
  thread_pragma();
  for (size_t d = 0; d + 1 < rank; ++d)
    open(at[nest[d]], in[nest[d]]);
  simd_pragma();
  loop(at[nest[rank - 1]], in[nest[rank - 1]], inside);
  for (size_t d = 0; d + 1 < rank; ++d)
    close();
}

} // namespace swage
