#include "runtime/task/generate.hpp"

#include "runtime/task/prompt.hpp"
#include "runtime/task/recipes.hpp"
#include "runtime/task/synthesise.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

using namespace swage;

namespace {

task_sets generated(const tasks_config& tasks) {
  auto sets = generate_sets(tasks, {});
  if (!sets)
    FAIL(sets.error().message);
  return std::move(*sets);
}

std::set<std::string> expressions(const std::vector<task>& tasks) {
  std::set<std::string> found;
  for (auto& what : tasks)
    found.insert(what.canonical);
  return found;
}

std::set<std::string> tags(const std::vector<task>& tasks) {
  std::set<std::string> found;
  for (auto& what : tasks)
    found.insert(what.tags.begin(), what.tags.end());
  return found;
}

bool disjoint(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::none_of(a, [&](auto& x) { return b.contains(x); });
}

} // namespace

TEST_CASE("no two sets share a canonical expression", "[task][generate]") {
  auto sets = generated({});
  auto train = expressions(sets.train);
  auto validation = expressions(sets.validation);
  auto held_out = expressions(sets.held_out);
  CHECK(disjoint(train, validation));
  CHECK(disjoint(train, held_out));
  CHECK(disjoint(validation, held_out));
  CHECK(validation.size() == sets.validation.size());
  CHECK(held_out.size() == sets.held_out.size());
}

TEST_CASE("sets have the configured sizes and levels", "[task][generate]") {
  tasks_config tasks;
  auto sets = generated(tasks);
  CHECK(sets.train.size() == tasks.train);
  CHECK(sets.validation.size() == tasks.validation);
  CHECK(sets.held_out.size() == tasks.held_out);
  for (int level : {1, 2, 3})
    CHECK(std::ranges::count(sets.train, level, &task::level)
          == static_cast<long>(
            1000 * tasks.level_weights[static_cast<size_t>(level) - 1]));
}

TEST_CASE("training uses each operator that is held out", "[task][generate]") {
  auto sets = generated({});
  auto known = tags(sets.train);
  CHECK(known.size() >= 40);
  for (auto& tag : tags(sets.held_out)) {
    CAPTURE(tag);
    CHECK(known.contains(tag));
  }
}

TEST_CASE("the same seed draws the same tasks", "[task][generate]") {
  tasks_config tasks;
  tasks.train = 60;
  auto first = generated(tasks), second = generated(tasks);
  tasks.seed = 8;
  auto other = generated(tasks);
  size_t equal = 0;
  for (size_t i = 0; i < first.train.size(); ++i) {
    CHECK(first.train[i].reference == second.train[i].reference);
    equal += first.train[i].program == other.train[i].program;
  }
  CHECK(equal < 10);
}

TEST_CASE("drawn tasks do not depend on the machine", "[task][generate]") {
  // Written down once: a change here changes what every run is trained on.
  draw random{42};
  CHECK(random.between(0, 999) == 406);
  CHECK(serialise(draw_program(random, 1)) == "1 8x832x16:c;cumsum 0 d1");
}

TEST_CASE("every drawn program is a task with solutions", "[task][generate]") {
  rc::check([](uint64_t seed) {
    auto level = *rc::gen::inRange(1, 4);
    draw random{seed};
    auto what = draw_program(random, level);
    RC_ASSERT(serialise(*parse_program(serialise(what))) == serialise(what));
    auto made = make_task(what, "drawn", {});
    RC_ASSERT(made.has_value());
    RC_ASSERT(made->args.outputs.size() == 1u);
    RC_ASSERT(!made->tags.empty());
    RC_ASSERT(!is_degenerate(what));
    RC_ASSERT((what.nodes.size() == 1u) == (level == 1));
    auto solutions = synthesise(*made);
    RC_ASSERT(solutions.has_value());
    RC_ASSERT(!solutions->empty());
    RC_ASSERT(render_prompt(*made, "compact").size() < 160u);
  });
}

TEST_CASE("main operands are large enough to time", "[task][generate]") {
  auto sets = generated({});
  for (auto& what : sets.train) {
    if (what.level == 3)
      continue;
    auto elements = what.args.inputs[0].numel();
    CAPTURE(what.program);
    CHECK(elements >= 14'000);
    CHECK(elements <= 145'000);
  }
}

TEST_CASE("level weights that cannot be used are refused", "[task][generate]") {
  tasks_config tasks;
  for (std::vector<double> weights :
       {std::vector<double>{}, {0, 0, 0}, {-1, 1}, {1, 1, 1, 1}}) {
    tasks.level_weights = weights;
    auto sets = generate_sets(tasks, {});
    REQUIRE_FALSE(sets);
    CHECK(sets.error().code == ec::invalid_config);
  }
}

TEST_CASE("a set beyond the distinct expressions is refused",
          "[task][generate]") {
  tasks_config tasks;
  tasks.train = 1;
  tasks.held_out = 5000;
  tasks.level_weights = {1};
  auto sets = generate_sets(tasks, {});
  REQUIRE_FALSE(sets);
  CHECK(sets.error().message.find("held_out = 5000") != std::string::npos);
}

TEST_CASE("a target that does not exist is refused", "[task][generate]") {
  verifier_config verifier;
  verifier.target = "abacus";
  auto sets = generate_sets({}, verifier);
  REQUIRE_FALSE(sets);
  CHECK(sets.error().message.find("abacus") != std::string::npos);
}

TEST_CASE("level two composes at most so many operators", "[task][generate]") {
  tasks_config tasks;
  tasks.train = 300;
  tasks.validation = tasks.held_out = 8;
  tasks.level_weights = {0, 1};
  auto most = [&](uint32_t allowed) {
    tasks.max_operators = allowed;
    auto sets = generate_sets(tasks, {});
    REQUIRE(sets);
    size_t seen = 0;
    for (auto& each : sets->train) {
      auto what = parse_program(each.program);
      REQUIRE(what);
      seen = std::max(seen, what->nodes.size());
    }
    return seen;
  };
  CHECK(most(2) == 2);
  CHECK(most(3) == 3);
  CHECK(most(4) == 4);
  CHECK(most(5) == 5);
}

TEST_CASE("only the named operators make levels one and two",
          "[task][generate]") {
  tasks_config tasks;
  tasks.train = 200;
  tasks.operators = {"relu", "exp", "add", "mul_c", "sum", "softmax"};
  tasks.validation = tasks.held_out = 8;
  tasks.level_weights = {0.5, 0.5};
  auto found = tags(generated(tasks).train);
  CHECK(
    found
    == std::set<std::string>(tasks.operators.begin(), tasks.operators.end()));
  tasks.operators.push_back("rleu");
  auto refused = generate_sets(tasks, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message
        == "tasks.operators: \"rleu\" is not an operator; did you mean "
           "\"relu\"?");
}
