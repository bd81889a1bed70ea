#include "runtime/config/node_rules.hpp"

#include "runtime/config/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace swage {

namespace {

/// One kind of actor, in `[actors]` and in a node's counts alike.
struct actor_kind {
  const char* name;
  uint32_t actors_config::*count;
};

constexpr actor_kind kinds[] = {{"rollout", &actors_config::rollout},
                                {"verifier", &actors_config::verifier},
                                {"learner", &actors_config::learner}};

/// "host:port" with a port that is one.
bool is_address(const std::string& text) {
  auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0
      || text.find_first_of(" \t\r\n/@") != std::string::npos)
    return false;
  uint16_t port = 0;
  auto end = text.data() + text.size();
  auto [rest, failed] = std::from_chars(text.data() + colon + 1, end, port);
  return failed == std::errc{} && rest == end && port != 0;
}

} // namespace

std::optional<std::string> node_complaint(const node_config& node,
                                          std::span<const node_config> before) {
  if (!is_file_name(node.name))
    return fmt::format("a node's name must be letters, digits, '-', '_' and "
                       "'.', found \"{}\"",
                       node.name);
  if (!is_address(node.address))
    return fmt::format("address of node {} must be host:port, found \"{}\"",
                       node.name, node.address);
  for (auto& other : before)
    if (other.name == node.name || other.address == node.address)
      return fmt::format("node {} has the name or the address of another node",
                         node.name);
  return std::nullopt;
}

namespace {

/// Shared weights stay in the learner's process.
result<void> check_transport(const config& settings,
                             const knob_origins& origins) {
  if (settings.weights.transport != "local")
    return {};
  auto given = origins.find("weights.transport");
  for (auto& node : settings.cluster.nodes)
    if (node.actors.rollout > 0 && node.actors.learner == 0)
      return fail(
        ec::invalid_config,
        fmt::format("weights.transport = \"local\" ({}) contradicts node {} "
                    "({}): it has rollouts and no learner to share weights "
                    "with; set it to auto",
                    given == origins.end() ? "default" : given->second,
                    node.name, origins.find("cluster.node")->second));
  return {};
}

} // namespace

result<void> settle_nodes(config& settings, const knob_origins& origins) {
  auto& nodes = settings.cluster.nodes;
  if (nodes.empty())
    return {};
  auto where = origins.find("cluster.node")->second;
  if (!std::ranges::count(nodes, settings.cluster.head, &node_config::name)) {
    std::string names;
    for (auto& node : nodes)
      names += (names.empty() ? "" : ", ") + node.name;
    return fail(ec::invalid_config,
                fmt::format("{}: cluster.head is {}, which is none of the "
                            "nodes {}",
                            where, settings.cluster.head, names));
  }
  for (auto [name, count] : kinds) {
    uint32_t sum = 0;
    for (auto& node : nodes)
      sum += node.actors.*count;
    if (sum == 0 || sum > max_actors)
      return fail(ec::invalid_config,
                  fmt::format("{}: the nodes start {} actors of kind {}; from "
                              "1 to {} are needed",
                              where, sum, name, max_actors));
    auto given = origins.find(fmt::format("actors.{}", name));
    if (given != origins.end() && settings.actors.*count != sum)
      return fail(ec::invalid_config,
                  fmt::format("actors.{} = {} ({}) contradicts the nodes' {} "
                              "({}): [actors] is the sum over the nodes",
                              name, settings.actors.*count, given->second, sum,
                              where));
    settings.actors.*count = sum;
  }
  return check_transport(settings, origins);
}

} // namespace swage
