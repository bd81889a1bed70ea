#include "fixture.hpp"

#include "runtime/buffer/payload.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace swage;
using namespace swage::test;

namespace {

trajectory rich_trajectory() {
  auto whole = sample(1ull << 40, 7, 1.25, 12);
  whole.turns[0].response = {0, 127, 128, 300000, -1};
  whole.turns[0].logprobs = {-0.0f, -1e-30f, -12.5f, 0, -1};
  whole.turns[0].versions = {{12, 2}, {13, 3}};
  whole.turns[0].outcome.times.reference_s = 0.125;
  whole.turns[0].outcome.cached = true;
  whole.turns[0].text = std::string("a\0b", 3) + "\xc3\xa9";
  whole.turns.push_back(sample(1, 7, -1).turns[0]);
  whole.turns[1].finish = finish_reason::length;
  whole.ret = -0.75;
  whole.hops = {1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4, 0};
  return whole;
}

} // namespace

TEST_CASE("a trajectory comes back as it was stored", "[buffer][payload]") {
  auto whole = rich_trajectory();
  auto bytes = encode(whole);
  auto back = decode(bytes);
  REQUIRE(back);
  CHECK(back->item == whole.item);
  CHECK(back->index == whole.index);
  CHECK(back->ret == whole.ret);
  CHECK(back->hops.stored == whole.hops.stored);
  REQUIRE(back->turns.size() == 2);
  auto &a = back->turns[0], &b = whole.turns[0];
  CHECK(a.prompt == b.prompt);
  CHECK(a.response == b.response);
  CHECK(a.logprobs == b.logprobs);
  REQUIRE(a.versions.size() == 2);
  CHECK(a.versions[1].version == 13);
  CHECK(a.versions[1].count == 3);
  CHECK(a.text == b.text);
  CHECK(a.outcome.kind == b.outcome.kind);
  CHECK(a.outcome.cached);
  CHECK(a.outcome.times.reference_s == 0.125);
  CHECK(back->turns[1].finish == finish_reason::length);
  CHECK(back->turns[1].feedback == "feedback");
  // Encoding again gives the same bytes: nothing was lost unseen.
  CHECK(encode(*back) == bytes);
}

TEST_CASE("times that were not measured survive", "[buffer][payload]") {
  auto whole = sample(1, 0, 1);
  whole.turns[0]
    .outcome.times.measure_s = std::numeric_limits<double>::quiet_NaN();
  auto back = decode(encode(whole));
  REQUIRE(back);
  CHECK(std::isnan(back->turns[0].outcome.times.measure_s));
}

TEST_CASE("every cut of a payload is found out", "[buffer][payload]") {
  auto bytes = encode(rich_trajectory());
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto back = decode(std::span(bytes).first(n));
    REQUIRE_FALSE(back);
    CHECK(back.error().code == ec::corrupt);
  }
  bytes.push_back(std::byte{0});
  CHECK_FALSE(decode(bytes));
}

TEST_CASE("garbage neither crashes nor allocates the world",
          "[buffer][payload]") {
  std::mt19937 random(1);
  auto good = encode(rich_trajectory());
  for (int i = 0; i < 20000; ++i) {
    auto bytes = good;
    for (int k = 0; k < 3; ++k)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    auto back = decode(bytes);
    if (back)
      CHECK(back->bytes() < 100 * bytes.size());
  }
}
