#include "runtime/config/topology.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace swage;

namespace {

const topology_edge& edge(const topology& graph, std::string_view message) {
  auto found = std::ranges::find(graph.edges, message, &topology_edge::message);
  REQUIRE(found != graph.edges.end());
  return *found;
}

} // namespace

TEST_CASE("one process holds every kind of actor", "[runtime][config]") {
  auto graph = make_topology(config{});
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].head);
  for (auto kind : {"coordinator", "buffer", "rollout", "pool", "verifier",
                    "mirror", "learner", "publisher"})
    CHECK(graph.count(kind) == 1);
  CHECK(std::ranges::none_of(graph.edges, &topology_edge::remote));
}

TEST_CASE("counts change links and nothing else", "[runtime][config]") {
  config settings;
  settings.actors = {.rollout = 4, .verifier = 8, .learner = 1};
  auto graph = make_topology(settings);
  CHECK(graph.count("rollout") == 4);
  CHECK(graph.count("verifier") == 8);
  CHECK(graph.count("pool") == 1);
  CHECK(edge(graph, "grant").links == 4);
  CHECK(edge(graph, "candidate").links == 4);
  CHECK(edge(graph, "batch").links == 1);
  CHECK(graph.edges.size() == make_topology(config{}).edges.size());
}

TEST_CASE("a learner's first rank speaks for all", "[runtime][config]") {
  config settings;
  settings.actors.learner = 3;
  auto graph = make_topology(settings);
  CHECK(graph.count("learner") == 3);
  CHECK(edge(graph, "share").links == 2);
  for (auto message : {"judged", "commit", "snapshot"})
    CHECK(edge(graph, message).links == 1);
  auto alone = make_topology(config{});
  CHECK(std::ranges::find(alone.edges, "share", &topology_edge::message)
        == alone.edges.end());
}

TEST_CASE("edges between two nodes are remote", "[runtime][config]") {
  config settings;
  settings.actors = {.rollout = 2, .verifier = 4, .learner = 1};
  settings.cluster.head = std::string{"a"};
  settings.cluster.nodes = {
    {"a", "h:1", {.rollout = 0, .verifier = 2, .learner = 0}},
    {"b", "h:2", {.rollout = 2, .verifier = 2, .learner = 1}}};
  auto graph = make_topology(settings);
  CHECK(graph.count("pool") == 2);
  CHECK(edge(graph, "candidate").links == 4);
  CHECK(edge(graph, "candidate").remote);
  CHECK(edge(graph, "grant").remote);
  CHECK_FALSE(edge(graph, "weights").remote);
  CHECK_FALSE(edge(graph, "judged").remote);
  CHECK(graph.nodes[0].head);
  CHECK_FALSE(graph.nodes[1].head);
}
