#include "tools/swage/taught.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

namespace {

task some_task() {
  task out;
  out.program = "as an engine read it";
  out.tags = {"relu", "erf", "add", "cummax"};
  return out;
}

} // namespace

TEST_CASE("operators that a run was not taught are named", "[tools][write]") {
  tasks_config taught;
  taught.operators = {"relu", "add"};
  auto told = taught_complaint(some_task(), taught);
  REQUIRE(told);
  CHECK(told->find("(erf, cummax)") != std::string::npos);
  taught.operators = {"relu", "add", "erf", "cummax", "exp"};
  CHECK_FALSE(taught_complaint(some_task(), taught));
  taught.operators = {"all"};
  CHECK_FALSE(taught_complaint(some_task(), taught));
}

TEST_CASE("operators of a suite are not those that are named",
          "[tools][write]") {
  tasks_config taught;
  taught.suite = "ours";
  taught.operators = {"relu"};
  CHECK_FALSE(taught_complaint(some_task(), taught));
}

TEST_CASE("a module without a program is told of", "[tools][write]") {
  CHECK(taught_complaint(task{}, tasks_config{}));
}
