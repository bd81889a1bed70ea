#include "runtime/config/built.hpp"

#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>
#include <vector>

using namespace swage;

TEST_CASE("what is not built is refused by name", "[runtime][config]") {
  struct row {
    std::vector<std::string> overrides;
    std::string left;
  };
  auto [overrides, left] = GENERATE(
    row{{"verifier.target=cuda", "verifier.form=module"},
        "verifier.target = \"cuda\" (--set verifier.target=cuda): "},
    row{{"verifier.target=cuda-host"},
        "verifier.target = \"cuda-host\" (--set verifier.target=cuda-host): "},
    row{{"verifier.target=musa", "verifier.form=module"},
        "verifier.target = \"musa\" (--set verifier.target=musa): "},
    row{{"verifier.form=module"},
        "verifier.form = \"module\" (--set verifier.form=module): "});
  auto loaded = parse_config("", "x.toml", overrides);
  REQUIRE_FALSE(loaded.has_value());
  INFO(loaded.error().message);
  CHECK(loaded.error().code == ec::unsupported);
  CHECK(loaded.error().message.starts_with(left));
  CHECK(loaded.error().message.find("set it to") != std::string::npos);
}

TEST_CASE("a learner's ranks share a node", "[runtime][config]") {
  auto loaded = parse_config("[cluster]\nhead = \"a\"\n"
                             "[[cluster.node]]\nname = \"a\"\n"
                             "address = \"127.0.0.1:4001\"\n"
                             "actors = {rollout = 1, learner = 1}\n"
                             "[[cluster.node]]\nname = \"b\"\n"
                             "address = \"127.0.0.1:4002\"\n"
                             "actors = {verifier = 1, learner = 1}\n",
                             "x.toml");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code == ec::unsupported);
  INFO(loaded.error().message);
  CHECK(loaded.error().message.starts_with("actors.learner = 2 (x.toml:"));
  CHECK(loaded.error().message.find("on one node") != std::string::npos);
  std::vector<std::string> alone{"actors.learner=2"};
  CHECK(parse_config("", "x.toml", alone).has_value());
}

TEST_CASE("one value can be asked for alone", "[runtime][config]") {
  CHECK(check_built("verifier.target", "cpu").has_value());
  auto refused = check_built("verifier.target", "musa");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.starts_with("verifier.target = \"musa\": "));
}
