#include "runtime/config/config_text.hpp"

#include "runtime/config/knobs.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace swage {

namespace {

constexpr std::string_view node_help =
  "# Nodes, if more than one process takes part: one [[cluster.node]] each,\n"
  "# with name, address (host:port) and the actors that it starts, such as\n"
  "# actors = {rollout = 1, verifier = 2}. [actors] is then their sum.\n";

std::string node_text(const node_config& node) {
  return fmt::format("\n[[cluster.node]]\nname = {}\naddress = {}\n"
                     "actors = {{rollout = {}, verifier = {}, learner = {}}}\n",
                     toml_quote(node.name), toml_quote(node.address),
                     node.actors.rollout, node.actors.verifier,
                     node.actors.learner);
}

/// One knob: help and range as comments, then the assignment.
std::string knob_text(const knob& row, const config& settings) {
  return fmt::format("# {}\n# ({})\n{} = {}\n", row.help, expectation(row),
                     row.key, value_text(row, settings));
}

bool equal(const node_config& a, const node_config& b) {
  return node_text(a) == node_text(b);
}

} // namespace

std::string config_text(const config& settings) {
  std::string text;
  std::string_view table;
  for (auto& row : knobs()) {
    if (row.table != table) {
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", row.table);
      table = row.table;
    }
    text += knob_text(row, settings);
  }
  text += node_help;
  for (auto& node : settings.cluster.nodes)
    text += node_text(node);
  return text;
}

std::string config_help() {
  return config_text(config{});
}

uint64_t config_hash(const config& settings) {
  auto text = config_text(settings);
  return XXH3_64bits(text.data(), text.size());
}

std::vector<knob_difference> config_differences(const config& left,
                                                const config& right) {
  std::vector<knob_difference> found;
  for (auto& row : knobs()) {
    auto a = value_text(row, left);
    auto b = value_text(row, right);
    if (a != b)
      found.push_back({row.path(), a, b, row.resume == on_resume::fixed});
  }
  if (!std::ranges::equal(left.cluster.nodes, right.cluster.nodes, equal))
    found.push_back(
      {"cluster.node", fmt::format("{} nodes", left.cluster.nodes.size()),
       fmt::format("{} nodes", right.cluster.nodes.size()), false});
  return found;
}

} // namespace swage
