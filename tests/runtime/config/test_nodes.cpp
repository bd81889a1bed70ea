#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace swage;

namespace {

const std::string two_nodes = "[[cluster.node]]\n"
                              "name = \"head\"\n"
                              "address = \"127.0.0.1:4242\"\n"
                              "[[cluster.node]]\n"
                              "name = \"far\"\n"
                              "address = \"host:4243\"\n"
                              "actors = {rollout = 2, verifier = 3, "
                              "learner = 1}\n";

std::string refusal(const std::string& text,
                    const std::vector<std::string>& overrides = {}) {
  auto loaded = parse_config(text, "x.toml", overrides);
  REQUIRE_FALSE(loaded.has_value());
  return loaded.error().message;
}

} // namespace

TEST_CASE("the actors are summed over the nodes", "[runtime][config]") {
  auto loaded = parse_config(two_nodes, "x.toml");
  INFO((loaded ? "" : loaded.error().message));
  REQUIRE(loaded.has_value());
  CHECK(loaded->actors.rollout == 2);
  CHECK(loaded->actors.verifier == 3);
  CHECK(loaded->cluster.nodes[0].actors.rollout == 0);
}

TEST_CASE("a sum that differs from actors is refused", "[runtime][config]") {
  auto message = refusal("[actors]\nrollout = 5\n" + two_nodes);
  CHECK(message
        == "actors.rollout = 5 (x.toml:2:11) contradicts the nodes' 2 "
           "(x.toml:3:1): [actors] is the sum over the nodes");
  CHECK(refusal(two_nodes, {"actors.verifier=1"})
          .starts_with("actors.verifier = 1 (--set actors.verifier=1)"));
}

TEST_CASE("weights that are only shared reach one process",
          "[runtime][config]") {
  CHECK(parse_config(two_nodes, "x.toml",
                     std::vector<std::string>{"weights.transport=local"})
          .has_value());
  auto apart = two_nodes
               + "[[cluster.node]]\nname = \"third\"\n"
                 "address = \"host:4244\"\nactors = {rollout = 1}\n";
  CHECK(refusal(apart, {"weights.transport=local"})
        == "weights.transport = \"local\" (--set weights.transport=local) "
           "contradicts node third (x.toml:1:1): it has rollouts and no "
           "learner to share weights with; set it to auto");
}

TEST_CASE("an unknown head lists the nodes there are", "[runtime][config]") {
  auto message = refusal(two_nodes, {"cluster.head=boss"});
  CHECK(message.find("cluster.head is boss, which is none of the nodes head, "
                     "far")
        != std::string::npos);
}

TEST_CASE("a kind that no node starts is missed", "[runtime][config]") {
  CHECK(refusal("[[cluster.node]]\nname = \"head\"\naddress = \"a:1\"\n"
                "actors = {rollout = 1}\n")
          .find("start 0 actors of kind verifier")
        != std::string::npos);
}

TEST_CASE("bad names and addresses are refused", "[runtime][config]") {
  auto node = [](const std::string& name, const std::string& address) {
    return "[[cluster.node]]\nname = \"" + name + "\"\naddress = \"" + address
           + "\"\n";
  };
  for (auto name : {"", "../x", "a b", ".hidden"})
    CHECK(refusal(node(name, "a:1")).starts_with("x.toml:1:"));
  for (auto address :
       {"", "host", ":1", "host:", "host:0", "host:70000", "host:12a", "a b:1"})
    CHECK(refusal(node("a", address)).find("must be host:port")
          != std::string::npos);
  CHECK(refusal(node("a", "h:1") + node("a", "h:2")).starts_with("x.toml:4:"));
  CHECK(refusal(node("a", "h:1") + node("b", "h:1")).starts_with("x.toml:4:"));
}

TEST_CASE("unknown keys of a node name the nearest", "[runtime][config]") {
  CHECK(refusal("[[cluster.node]]\nnam = \"a\"\n")
        == "x.toml:2:1: unknown key nam in [[cluster.node]]; the nearest "
           "known key is name");
  CHECK(refusal("[[cluster.node]]\nactors = {rolout = 1}\n")
          .find("unknown kind of actor rolout; the nearest known key is "
                "rollout")
        != std::string::npos);
  CHECK(refusal("[[cluster.node]]\nactors = {rollout = -1}\n")
          .find("must be a whole number from 0 to 1024, found -1")
        != std::string::npos);
  CHECK(refusal("[[cluster.node]]\nactors = 3\n").starts_with("x.toml:2:10:"));
  CHECK(refusal("[[cluster.node]]\naddress = 3\n").starts_with("x.toml:2:11:"));
  CHECK(refusal("[cluster]\nnode = 3\n").starts_with("x.toml:2:8:"));
}
