#include "runtime/policy/prompt_room.hpp"

#include "runtime/task/prompt.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

using namespace swage;

namespace {

struct fixture {
  fixture() {
    settings.tasks.train = 20;
    settings.tasks.validation = 0;
    settings.tasks.held_out = 5;
    auto made = load_task_sets(settings);
    REQUIRE(made.has_value());
    sets = std::move(*made);
  }

  size_t length(const task& of) const {
    return tokens.encode(render_prompt(of, settings.tasks.prompt)).size();
  }

  config settings;
  task_sets sets;
  tokenizer tokens
    = tokenizer::load("configs/quickstart/tokenizer.json").value();
};

} // namespace

TEST_CASE("the quickstart's prompts leave room for a response",
          "[policy][prompt]") {
  fixture f;
  CHECK(count_too_long(f.sets, f.settings, f.tokens) == 0u);
}

TEST_CASE("prompts that leave no room are counted", "[policy][prompt]") {
  fixture f;
  size_t longest = 0;
  for (auto& one : f.sets.train)
    longest = std::max(longest, f.length(one));
  f.settings.policy.max_tokens = static_cast<uint32_t>(longest);
  size_t expected = 0;
  for (auto* set : {&f.sets.train, &f.sets.held_out})
    for (auto& one : *set)
      expected += f.length(one) >= longest;
  CHECK(expected >= 1);
  CHECK(count_too_long(f.sets, f.settings, f.tokens) == expected);
}

TEST_CASE("a set without any room at all is refused", "[policy][prompt]") {
  fixture f;
  f.settings.tasks.prompt = "full";
  f.settings.policy.max_tokens = 100;
  auto refused = count_too_long(f.sets, f.settings, f.tokens);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::invalid_config);
  INFO(refused.error().message);
  auto least = &f.sets.train.front();
  for (auto& one : f.sets.train)
    if (f.length(one) < f.length(*least))
      least = &one;
  CHECK(refused.error().message.find(fmt::format(
          "policy.max_tokens = 100: with tasks.prompt = \"full\" the shortest "
          "one, of task {}, has {} tokens",
          least->id, f.length(*least)))
        != std::string::npos);
}
