#include "runtime/observe/topology_text.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

TEST_CASE("the drawing shows every count", "[runtime][observe]") {
  config settings;
  settings.actors = {.rollout = 4, .verifier = 1024, .learner = 1};
  auto text = topology_text(make_topology(settings));
  INFO(text);
  CHECK(text.find("│ rollout × 4    │") != std::string::npos);
  CHECK(text.find("│ verifier × 1024│") != std::string::npos);
  CHECK(text.find("buffer → rollout") != std::string::npos);
  CHECK(text.find("staleness") == std::string::npos);
}

TEST_CASE("measured figures stand on their edges", "[runtime][observe]") {
  edge_figures figures[] = {{"buffer", "mirror", "batch", 0.25, 1.5, 0.00321}};
  auto text = topology_text(make_topology(config{}), figures);
  INFO(text);
  CHECK(text.find("staleness") != std::string::npos);
  CHECK(text.find("0.25") != std::string::npos);
  CHECK(text.find("0.00321") != std::string::npos);
}

TEST_CASE("nodes are listed with their actors", "[runtime][observe]") {
  config settings;
  settings.cluster.nodes = {{"head", "a:1", {0, 0, 0}},
                            {"far", "b:2", {1, 1, 1}}};
  auto text = topology_text(make_topology(settings));
  INFO(text);
  CHECK(text.find("head (head)  a:1      coordinator × 1, buffer × 1")
        != std::string::npos);
  CHECK(text.find("network") != std::string::npos);
}
