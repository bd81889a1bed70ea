#include "runtime/verify/measure_stand.hpp"
#include "tests/runtime/verify/one_judge.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace swage;
using test::judge;

constexpr uint32_t pool_cases = 4;
constexpr size_t rows = 16;

task table(const std::string& more) {
  task out;
  out.reference = R"(
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.float() * 2


def get_inputs():
    return [)" + more + "]\n";
  return out;
}

/// The inputs of so many calls.
std::vector<std::string> handed_over(const std::string& inputs, int calls) {
  auto loaded = judge().load(table(inputs));
  REQUIRE(loaded);
  secret_seeds seeds{7};
  draw_tools tools{**loaded, judge(), seeds};
  auto stand = timing_stand::open(tools, pool_cases);
  REQUIRE(stand);
  std::vector<std::string> out;
  for (int i = 0; i < calls; ++i) {
    REQUIRE((*stand)->next_inputs(tools));
    (*stand)->hand_over();
    auto seen = (*stand)->memory().input(0, 0);
    out.emplace_back(reinterpret_cast<const char*>(seen.data()), seen.size());
    // Again they are the same.
    (*stand)->withdraw();
    CHECK(std::ranges::all_of(seen, [](auto x) { return x == std::byte{0}; }));
    (*stand)->hand_over();
    CHECK(std::equal(seen.begin(), seen.end(),
                     reinterpret_cast<const std::byte*>(out.back().data())));
  }
  return out;
}

} // namespace

TEST_CASE("no row of an input is timed twice", "[verify][measure]") {
  for (auto* inputs :
       {"torch.randn(16, 33)", "torch.randn(16, 40).to(torch.bfloat16)",
        "torch.randn(16, 24).double()",
        "torch.randint(0, 100, (16, 51), dtype=torch.uint8)"}) {
    CAPTURE(inputs);
    std::set<std::string> seen;
    for (const auto& input : handed_over(inputs, 5 * pool_cases)) {
      auto bytes = input.size() / rows;
      for (size_t row = 0; row < rows; ++row)
        CHECK(seen.insert(input.substr(row * bytes, bytes)).second);
    }
  }
}

TEST_CASE("each element of a mixture was drawn at its place",
          "[verify][measure]") {
  auto inputs = handed_over("torch.randint(0, 2**30, (16, 7))",
                            4 * pool_cases);
  constexpr auto element = sizeof(int64_t);
  auto drawn = std::vector(inputs.begin(), inputs.begin() + pool_cases);
  for (const auto& input : inputs)
    for (size_t at = 0; at < input.size(); at += element)
      CHECK(std::ranges::any_of(drawn, [&](const std::string& one) {
        return one.compare(at, element, input, at, element) == 0;
      }));
}

TEST_CASE("a pool is drawn once for as many calls as it has cases",
          "[verify][measure]") {
  auto loaded = judge().load(table("torch.randperm(64)"));
  REQUIRE(loaded);
  secret_seeds seeds{7}, same{7};
  draw_tools tools{**loaded, judge(), seeds};
  auto stand = timing_stand::open(tools, pool_cases);
  REQUIRE(stand);
  for (int i = 0; i < 2; ++i)
    REQUIRE((*stand)->refill(tools));
  for (uint32_t i = 0; i < pool_cases; ++i)
    REQUIRE((*stand)->next_inputs(tools));
  // Of the state two, of each case one.
  for (uint32_t i = 0; i < 2 + pool_cases; ++i)
    (void)same.next();
  CHECK(seeds.next() == same.next());
}

TEST_CASE("inputs are mixed only out of two", "[verify][measure]") {
  auto can_mix = [](const char* inputs, uint32_t cases) {
    auto loaded = judge().load(table(inputs));
    REQUIRE(loaded);
    secret_seeds seeds{7};
    auto stand = timing_stand::open({**loaded, judge(), seeds}, cases);
    REQUIRE(stand);
    return (*stand)->can_mix(**loaded);
  };
  CHECK(can_mix("torch.rand(16, 33)", 2));
  CHECK_FALSE(can_mix("torch.rand(16, 33)", 1));
  CHECK_FALSE(can_mix("torch.randperm(64)", 2));
}

TEST_CASE("a kept stand holds nothing of an earlier candidate",
          "[verify][measure]") {
  auto loaded = judge().load(table("torch.rand(16, 33)"));
  REQUIRE(loaded);
  secret_seeds seeds{7};
  draw_tools tools{**loaded, judge(), seeds};
  auto stand = timing_stand::open(tools, pool_cases);
  REQUIRE(stand);
  REQUIRE((*stand)->next_inputs(tools));
  (*stand)->hand_over();
  auto& memory = (*stand)->memory();
  for (uint32_t i = 0; i < memory.cases(); ++i) {
    // Its pages are writable to their ends.
    auto written = memory.output(i, 0);
    std::fill(written.data() - 8, written.data() + written.size(),
              std::byte{7});
  }
  stand_rack rack;
  rack.keep("a", std::move(*stand));
  auto kept = rack.take("a");
  REQUIRE(kept);
  auto all = [](std::span<std::byte> bytes, std::byte value) {
    return std::ranges::all_of(bytes, [=](auto x) { return x == value; });
  };
  CHECK(all(kept->memory().input(0, 0), std::byte{0}));
  for (uint32_t i = 0; i < kept->memory().cases(); ++i) {
    auto left = i == 0 ? std::byte{0xff} : std::byte{0};
    CHECK(all(kept->memory().output(i, 0), left));
    CHECK_FALSE(kept->memory().damaged(i));
  }
}
