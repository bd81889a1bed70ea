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

/// On one line, such as "host:4242 with 1 rollouts, 2 verifiers, 0 learners".
std::string node_summary(const node_config* node) {
  return node ? fmt::format("{} with {} rollouts, {} verifiers, {} learners",
                            node->address, node->actors.rollout,
                            node->actors.verifier, node->actors.learner)
              : "absent";
}

const node_config* find_node(const config& in, const std::string& name) {
  auto found = std::ranges::find(in.cluster.nodes, name, &node_config::name);
  return found == in.cluster.nodes.end() ? nullptr : &*found;
}

void add_node_differences(const config& left, const config& right,
                          std::vector<knob_difference>& to) {
  auto compare = [&](const std::string& name) {
    auto a = node_summary(find_node(left, name));
    auto b = node_summary(find_node(right, name));
    if (a != b)
      to.push_back({"cluster.node " + name, a, b, false});
  };
  for (auto& node : left.cluster.nodes)
    compare(node.name);
  for (auto& node : right.cluster.nodes)
    if (!find_node(left, node.name))
      compare(node.name);
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
  add_node_differences(left, right, found);
  return found;
}

} // namespace swage
