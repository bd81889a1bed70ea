#include "runtime/config/topology.hpp"

#include <algorithm>

namespace swage {

namespace {

struct edge_row {
  std::string_view from, to, message;
};

/// Who sends what to whom in a run.
constexpr edge_row edge_rows[] = {
  {"buffer", "rollout", "grant"},      {"rollout", "pool", "candidate"},
  {"pool", "rollout", "verdict"},      {"rollout", "buffer", "submit"},
  {"buffer", "mirror", "batch"},       {"mirror", "rollout", "rescore"},
  {"mirror", "buffer", "judgement"},   {"mirror", "learner", "judged"},
  {"learner", "learner", "share"},     {"learner", "buffer", "commit"},
  {"learner", "publisher", "snapshot"},
  {"publisher", "rollout", "weights"}, {"publisher", "mirror", "weights"},
};

topology_node place(std::string name, std::string address, bool head,
                    const actors_config& counts) {
  topology_node node{std::move(name), std::move(address), head, {}};
  auto add = [&node](std::string_view kind, uint32_t count) {
    if (count > 0)
      node.actors.push_back({kind, count});
  };
  add("coordinator", head);
  add("buffer", head);
  add("rollout", counts.rollout);
  add("pool", counts.verifier > 0);
  add("verifier", counts.verifier);
  add("learner", counts.learner);
  add("mirror", counts.learner > 0);
  add("publisher", counts.learner > 0);
  return node;
}

uint32_t count_on(const topology_node& node, std::string_view kind) {
  auto found = std::ranges::find(node.actors, kind, &placement::kind);
  return found == node.actors.end() ? 0 : found->count;
}

/// Those of a kind that speak to other kinds: of a learner's ranks, the first.
uint32_t speakers(std::string_view kind, uint32_t count) {
  return kind == "learner" ? std::min(count, 1u) : count;
}

topology_edge connect(const topology& graph, const edge_row& row) {
  if (row.from == row.to)
    return {row.from, row.to, row.message, graph.count(row.from) - 1, false};
  uint32_t local = 0;
  for (auto& node : graph.nodes)
    local += speakers(row.from, count_on(node, row.from))
             * speakers(row.to, count_on(node, row.to));
  auto links = speakers(row.from, graph.count(row.from))
               * speakers(row.to, graph.count(row.to));
  return {row.from, row.to, row.message, links, local != links};
}

} // namespace

uint32_t topology::count(std::string_view kind) const {
  uint32_t sum = 0;
  for (auto& node : nodes)
    sum += count_on(node, kind);
  return sum;
}

topology make_topology(const config& settings) {
  topology graph;
  for (auto& node : settings.cluster.nodes)
    graph.nodes.push_back(place(node.name, node.address,
                                node.name == settings.cluster.head,
                                node.actors));
  if (graph.nodes.empty())
    graph.nodes.push_back(place("head", "", true, settings.actors));
  for (auto& row : edge_rows)
    if (auto edge = connect(graph, row); edge.links > 0)
      graph.edges.push_back(edge);
  return graph;
}

} // namespace swage
