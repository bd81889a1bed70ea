#include "tools/swage/taught.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

namespace {

task of_program(std::string program) {
  task out;
  out.program = std::move(program);
  return out;
}

task some_task() {
  return of_program("2 48x64:c;relu 0;erf 1;add 2 a0;cummax 3");
}

/// As in the quickstart: tasks of two operators at most.
tasks_config of_two(std::vector<std::string> operators) {
  tasks_config taught;
  taught.level_weights = {0.1, 0.9, 0};
  taught.operators = std::move(operators);
  taught.max_operators = 2;
  return taught;
}

std::string complaint(const task& what, const tasks_config& taught) {
  return taught_complaint(what, taught).value_or("");
}

} // namespace

TEST_CASE("operators that a run was not taught are named", "[tools][write]") {
  tasks_config taught;
  taught.operators = {"relu", "add"};
  CHECK(complaint(some_task(), taught)
        == "this module has what no task had that the policy was taught: "
           "operators (cummax, erf); expect little of it");
  taught.operators = {"relu", "add", "erf", "cummax", "exp"};
  CHECK_FALSE(taught_complaint(some_task(), taught));
  taught.operators = {"all"};
  CHECK_FALSE(taught_complaint(some_task(), taught));
}

TEST_CASE("more operators than a task had are told of", "[tools][write]") {
  auto taught = of_two({"all"});
  auto three = of_program("2 48x64:c;relu 0;exp 1 c0.5;add_c 2 c0.5");
  CHECK(complaint(three, taught).find("3 operators, where 2 were the most")
        != std::string::npos);
  taught.level_weights = {1};
  CHECK(complaint(three, taught).find("3 operators, where 1 were the most")
        != std::string::npos);
  taught.level_weights = {0.1, 0.8, 0.1}; // Blocks of any number.
  CHECK_FALSE(taught_complaint(three, taught));
}

TEST_CASE("constants that no task had are named", "[tools][write]") {
  auto taught = of_two({"gelu", "mul_c"});
  auto with = [](const char* value) {
    return of_program(std::string{"2 48x64:c;gelu 0;mul_c 1 c"} + value);
  };
  for (auto* value : {"0.2", "0.3", "2", "2.5"})
    CHECK_FALSE(taught_complaint(with(value), taught));
  for (auto* value : {"0.1", "0.25", "3", "-1"})
    CHECK(complaint(with(value), taught)
            .find(std::string{"constants (mul_c "} + value + ")")
          != std::string::npos);
}

TEST_CASE("operators of a suite are not those that are named",
          "[tools][write]") {
  auto taught = of_two({"relu"});
  taught.suite = "ours";
  CHECK_FALSE(taught_complaint(some_task(), taught));
  CHECK_FALSE(taught_complaint(some_task(), std::nullopt));
}

TEST_CASE("a module without a program is told of", "[tools][write]") {
  CHECK(taught_complaint(task{}, tasks_config{}));
  CHECK(taught_complaint(task{}, std::nullopt));
}

TEST_CASE("many modules are told of once with counts", "[tools][eval]") {
  auto taught = of_two({"relu", "add", "mul_c"});
  std::vector<task> all = {some_task(), task{},
                           of_program("1 48x64:c;mul_c 0 c9"),
                           of_program("1 48x64:c;relu 0")};
  CHECK(taught_complaint(all, taught)
        == "3 of 4 tasks are unlike those that the policy was taught: 1 with "
           "operators that compact prompts have no name for, 1 with operators "
           "that no taught task had (cummax, erf), 1 with more than 2 "
           "operators, 1 with constants that none had (mul_c 9); expect little "
           "of it there");
  CHECK_FALSE(taught_complaint(std::span{all}.last(1), taught));
}

TEST_CASE("what was taught is said in the policy's words", "[tools][write]") {
  CHECK(taught_text(of_program("2 48x64:c;gelu 0;mul_c 1 c2"), of_two({"gelu"}))
        == "to the policy this module is gelu, mul_c; it was taught tasks of "
           "at most 2 of its run's tasks.operators, with constants of mul_c "
           "from 0.2 to 2.5 in steps of 0.1");
  CHECK(taught_text(task{}, of_two({"gelu"})).empty());
}
