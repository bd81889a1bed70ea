#include "runtime/task/synthesise.hpp"

#include "runtime/task/generate.hpp"
#include "runtime/task/kernel_plan.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace swage;

namespace {

std::vector<solution> solutions(const std::string& text) {
  auto what = make_task(*parse_program(text), "test", {});
  REQUIRE(what);
  auto found = synthesise(*what);
  if (!found)
    FAIL(found.error().message);
  return *found;
}

std::string by_strategy(const std::string& text, const std::string& strategy) {
  auto found = solutions(text);
  auto at = std::ranges::find(found, strategy, &solution::strategy);
  return at == found.end() ? "" : at->source;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

} // namespace

TEST_CASE("a chain is written by all five strategies", "[task][synthesise]") {
  std::string chain = "2 64x256:c;tanh 0;add_c 1 c0.5;relu 2";
  auto found = solutions(chain);
  REQUIRE(found.size() == 5);
  CHECK(count(by_strategy(chain, "direct"), "for(") == 3);
  CHECK(count(by_strategy(chain, "fused"), "for(") == 1);
  CHECK(by_strategy(chain, "threaded").find("parallel") != std::string::npos);
  CHECK(by_strategy(chain, "vectorised").find("simd") != std::string::npos);
  CHECK(by_strategy(chain, "blocked").find("b+=512") != std::string::npos);
}

TEST_CASE("no two solutions of a task are alike", "[task][synthesise]") {
  auto found = solutions("1 64x256:c;relu 0");
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      CHECK(found[i].source != found[j].source);
}

TEST_CASE("strided inputs are read by their strides", "[task][synthesise]") {
  auto source = by_strategy("1 64x256:t;relu 0", "fused");
  CHECK(source.find("long na,long nb,long sa,long sb)") != std::string::npos);
  CHECK(source.find("x[i*sa+j*sb]") != std::string::npos);
}

TEST_CASE("an operator on a compound value keeps precedence",
          "[task][synthesise]") {
  auto source = by_strategy("2 64x256:c;mean 0 d1;add_c 1 c0.5;square 2",
                            "fused");
  CHECK(source.find("float v=s/nb;") != std::string::npos);
}

TEST_CASE("a foreign task has no synthesised solution", "[task][synthesise]") {
  task what;
  what.id = "mine";
  auto found = synthesise(what);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ec::unsupported);
  CHECK(found.error().message.find("mine") != std::string::npos);
  what.program = "1 8x4:c;no_such 0";
  CHECK(synthesise(what).error().code == ec::invalid_argument);
}

TEST_CASE("renaming touches whole identifiers only", "[task][synthesise]") {
  CHECK(rename("s+=fabsf(v)*s1", "s", "y[k]") == "y[k]+=fabsf(v)*s1");
  CHECK(times({"na", "1", "nb"}) == "na*nb");
  CHECK(times({"1"}) == "1");
}
