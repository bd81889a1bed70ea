#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"

#include <catch2/catch_test_macros.hpp>

#include <random>
#include <string>
#include <vector>

using namespace swage;

namespace {

/// Either a configuration that survives its own text, or a located message.
void check_verdict(const std::string& text,
                   const std::vector<std::string>& overrides = {}) {
  auto loaded = parse_config(text, "x.toml", overrides);
  if (!loaded) {
    auto code = loaded.error().code;
    REQUIRE((code == ec::invalid_config || code == ec::unsupported));
    REQUIRE_FALSE(loaded.error().message.empty());
    return;
  }
  auto again = parse_config(config_text(*loaded), "x.toml");
  INFO((again ? "" : again.error().message));
  REQUIRE(again.has_value());
  REQUIRE(config_hash(*again) == config_hash(*loaded));
}

/// One random edit: a byte changed, a piece removed, doubled or moved.
void mutate(std::string& text, std::mt19937_64& random) {
  auto at = [&] { return random() % (text.size() + 1); };
  auto begin = at();
  auto piece = text.substr(begin, random() % 20);
  switch (random() % 4) {
  case 0:
    if (begin < text.size())
      text[begin] = static_cast<char>(random());
    break;
  case 1:
    text.erase(begin, piece.size());
    break;
  case 2:
    text.insert(begin, piece);
    break;
  default:
    text.insert(at(), piece);
  }
}

} // namespace

TEST_CASE("random bytes never break the loader", "[runtime][config]") {
  std::mt19937_64 random{1};
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 200, '\0');
    for (auto& byte : text)
      byte = static_cast<char>(random());
    check_verdict(text);
  }
}

TEST_CASE("mutated configurations never break the loader",
          "[runtime][config]") {
  std::mt19937_64 random{2};
  config settings;
  settings.cluster.nodes = {{"head", "h:1", {}}};
  auto original = config_text(settings);
  for (int round = 0; round < 300; ++round) {
    auto text = original;
    for (auto edits = 1 + random() % 3; edits > 0; --edits)
      mutate(text, random);
    check_verdict(text);
  }
}

TEST_CASE("mutated overrides never break the loader", "[runtime][config]") {
  std::mt19937_64 random{3};
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 ? "rollout.group_size=16"
                                 : "run.stages=[\"rft\", \"eval\"]";
    for (auto edits = random() % 4; edits > 0; --edits)
      mutate(text, random);
    check_verdict("", {text});
  }
}

TEST_CASE("deep nesting is refused and not followed", "[runtime][config]") {
  check_verdict("a = " + std::string(100'000, '['));
  std::string tables;
  for (int i = 0; i < 20'000; ++i)
    tables += "a.";
  check_verdict(tables + "b = 1");
}
