#include "runtime/verify/measure_stand.hpp"
#include "tests/runtime/verify/one_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
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

task table(const std::string& more,
           const std::string& forward = "return x.float() * 2",
           const std::string& state = "pass") {
  task out;
  out.reference = R"(
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        )" + state + R"(

    def forward(self, x):
        )" + forward + R"(


def get_inputs():
    return [)" + more + "]\n";
  return out;
}

/// The elements of an input of floats, or of the state.
std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

std::vector<float> floats(const std::string& bytes) {
  return floats(std::as_bytes(std::span{bytes}));
}

/// The inputs of so many calls.
std::vector<std::string>
handed_over(const std::string& inputs, int calls,
            const std::string& forward = "return x.float() * 2") {
  auto loaded = judge().load(table(inputs, forward));
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

TEST_CASE("no element of many values is timed twice at its place",
          "[verify][measure]") {
  for (auto* inputs : {"torch.randn(16, 33)", "torch.rand(16, 33)",
                       "torch.rand(16, 33).t()"}) {
    CAPTURE(inputs);
    std::set<std::pair<size_t, float>> seen;
    size_t twice = 0, all = 0;
    for (const auto& input : handed_over(inputs, 10 * pool_cases)) {
      auto elements = floats(input);
      for (size_t i = 0; i < elements.size(); ++i)
        twice += seen.insert({i, elements[i]}).second ? 0 : 1;
      all += elements.size();
    }
    // By chance, one in 30 thousand may.
    CHECK(1000 * twice < all);
  }
}

TEST_CASE("a mixture keeps to the range of what is drawn",
          "[verify][measure]") {
  auto inside = [](const char* inputs, auto&& predicate) {
    CAPTURE(inputs);
    for (const auto& input : handed_over(inputs, 10 * pool_cases))
      CHECK(std::ranges::all_of(floats(input), predicate));
  };
  inside("torch.rand(16, 33)", [](float x) { return x >= 0 && x < 1; });
  inside("3 + torch.rand(16, 33)", [](float x) { return x >= 3 && x < 4; });
  inside("torch.randn(16, 33).sign()",
         [](float x) { return x == 1 || x == -1; });
  inside("torch.randint(0, 1000, (16, 33)).float()",
         [](float x) { return x >= 0 && x < 1000 && x == std::trunc(x); });
  inside("torch.randn(16, 33).half().float()", [](float x) {
    return x == std::ldexp(std::nearbyint(std::ldexp(x, 24)), -24);
  });
}

TEST_CASE("what occurs often in an input occurs as often in a mixture",
          "[verify][measure]") {
  for (auto* inputs : {"torch.randn(16, 33).relu()",
                       "torch.rand(16, 33) * (torch.rand(16, 33) < 0.5)"}) {
    CAPTURE(inputs);
    for (const auto& input : handed_over(inputs, 10 * pool_cases)) {
      auto zeros = std::ranges::count(floats(input), 0.0f);
      CHECK(zeros > 528 / 3);
      CHECK(zeros < 528 * 2 / 3);
    }
  }
}

TEST_CASE("masks of infinities stay what they are", "[verify][measure]") {
  for (const auto& input :
       handed_over("torch.rand(16, 33).log().masked_fill(torch.rand(16, 33) "
                   "< 0.3, float('-inf'))",
                   10 * pool_cases, "return x.exp()"))
    for (auto x : floats(input))
      CHECK(x <= 0);
}

TEST_CASE("stressed inputs have a few elements of another kind",
          "[verify][measure]") {
  auto loaded = judge().load(table("torch.rand(64, 64)"));
  REQUIRE(loaded);
  REQUIRE((*loaded)->stress.size() == 3);
  secret_seeds seeds{7};
  draw_tools tools{**loaded, judge(), seeds};
  auto stand = timing_stand::open(tools, pool_cases);
  REQUIRE(stand);
  REQUIRE((*stand)->next_inputs(tools));
  std::set<case_kind> kinds;
  for (int i = 0; i < 12; ++i) {
    REQUIRE((*stand)->next_stressed(tools));
    (*stand)->hand_over();
    auto kind = (*stand)->kind();
    kinds.insert(kind);
    auto outside = std::ranges::count_if(
      floats((*stand)->memory().input(0, 0)),
      [](float x) { return x < 0 || x >= 1; });
    if (kind != case_kind::small)
      CHECK(outside > 0);
    CHECK(outside < 64 * 64 / 16);
  }
  CHECK(kinds.size() == 3);
  CHECK(kinds.count(case_kind::plain) == 0);
  // The next ones are plain again.
  REQUIRE((*stand)->next_inputs(tools));
  CHECK((*stand)->kind() == case_kind::plain);
}

TEST_CASE("stressed inputs that cannot be mixed are drawn",
          "[verify][measure]") {
  auto sorted = table("torch.rand(64).sort().values");
  for (uint32_t cases : {uint32_t{1}, pool_cases}) {
    CAPTURE(cases);
    auto loaded = judge().load(sorted);
    REQUIRE(loaded);
    REQUIRE_FALSE((*loaded)->can_splice);
    secret_seeds seeds{7};
    draw_tools tools{**loaded, judge(), seeds};
    auto stand = timing_stand::open(tools, cases);
    REQUIRE(stand);
    for (int i = 0; i < 6; ++i) {
      REQUIRE((*stand)->next_inputs(tools));
      REQUIRE((*stand)->next_stressed(tools));
      (*stand)->hand_over();
      auto seen = floats((*stand)->memory().input(0, 0));
      auto [least, most] = std::ranges::minmax(seen);
      switch ((*stand)->kind()) {
        case case_kind::signed_: CHECK(least < 0); break;
        case case_kind::large: CHECK(most > 1); break;
        default: CHECK(most < 1.0f / 32);
      }
    }
  }
}

TEST_CASE("no state is timed twice", "[verify][measure]") {
  auto loaded = judge().load(table("torch.rand(16, 8)",
                                   "return (x @ self.w).half() * self.h + self.b",
                                   R"(self.w = torch.nn.Parameter(torch.randn(8, 8))
        self.h = torch.nn.Parameter(torch.ones(8).half())
        self.register_buffer("b", torch.ones(8)))"));
  REQUIRE(loaded);
  CHECK((*loaded)->free_state == std::vector<int64_t>{0, 1, -1});
  secret_seeds seeds{7};
  draw_tools tools{**loaded, judge(), seeds};
  auto stand = timing_stand::open(tools, pool_cases);
  REQUIRE(stand);
  auto& memory = (*stand)->memory();
  auto drawn = floats(memory.state(0, 0)), constant = floats(memory.state(0, 2));
  REQUIRE((*stand)->next_inputs(tools));
  std::set<std::string> halves;
  std::set<std::pair<size_t, float>> seen;
  for (int i = 0; i < 20; ++i) {
    (*stand)->next_state(seeds);
    (*stand)->hand_over();
    auto now = floats(memory.state(0, 0));
    for (size_t k = 0; k < now.size(); ++k) {
      CHECK(seen.insert({k, now[k]}).second);
      CHECK(std::fabs(now[k] - drawn[k]) <= std::fabs(drawn[k]) / 7);
    }
    // Handed over again it is the same.
    (*stand)->hand_over();
    CHECK(floats(memory.state(0, 0)) == now);
    auto half = memory.state(0, 1);
    CHECK(halves.emplace(reinterpret_cast<const char*>(half.data()),
                         half.size()).second);
    CHECK(floats(memory.state(0, 2)) == constant);
  }
}

TEST_CASE("tied parameters stay tied, and views of one stay views",
          "[verify][measure]") {
  auto loaded = judge().load(
    table("torch.rand(16, 8)", "return x @ self.a @ self.b + x @ self.c.t()",
          R"(self.a = torch.nn.Parameter(torch.randn(8, 8))
        self.b = self.a
        self.c = torch.nn.Parameter(torch.randn(8, 8))
        self.view = self.c.detach().t())"));
  REQUIRE(loaded);
  REQUIRE((*loaded)->free_state.size() == 4);
  secret_seeds seeds{7};
  draw_tools tools{**loaded, judge(), seeds};
  auto stand = timing_stand::open(tools, pool_cases);
  REQUIRE(stand);
  auto& memory = (*stand)->memory();
  auto before = floats(memory.state(0, 0)), other = floats(memory.state(0, 2));
  REQUIRE((*stand)->next_inputs(tools));
  (*stand)->next_state(seeds);
  (*stand)->hand_over();
  CHECK(floats(memory.state(0, 0)) != before);
  CHECK(floats(memory.state(0, 0)) == floats(memory.state(0, 1)));
  CHECK(floats(memory.state(0, 2)) == other);
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
  // Of the state two, of the first kind of stress one, of each case one.
  for (uint32_t i = 0; i < 3 + pool_cases; ++i)
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
