#include "runtime/policy/draw.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <map>
#include <set>
#include <vector>

using namespace swage;
using Catch::Matchers::WithinAbs;

namespace {

const std::vector<float> logits = {1, 3, 2, -4, 2.5f, 0, 3, -1};

double probability(size_t token, double temperature) {
  double total = 0;
  for (double logit : logits)
    total += std::exp(logit / temperature);
  return std::exp(static_cast<double>(logits[token]) / temperature) / total;
}

} // namespace

TEST_CASE("draws follow the distribution at their temperature",
          "[policy][draw]") {
  constexpr int count = 40000;
  std::vector<int> seen(logits.size());
  for (uint64_t i = 0; i < count; ++i)
    ++seen[static_cast<size_t>(draw_token(logits, {0.7f, 1, i, 3 * i}).token)];
  for (size_t i = 0; i < logits.size(); ++i)
    CHECK_THAT(seen[i] / double{count}, WithinAbs(probability(i, 0.7), 0.012));
}

TEST_CASE("log probabilities ignore the truncation of top-p",
          "[policy][draw]") {
  for (uint64_t i = 0; i < 50; ++i) {
    auto drawn = draw_token(logits, {0.7f, 0.5f, i, 0});
    auto token = static_cast<size_t>(drawn.token);
    CHECK_THAT(drawn.logprob,
               WithinAbs(std::log(probability(token, 0.7)), 1e-5));
    CHECK(drawn.logprob == log_probability(logits, drawn.token, 0.7f));
  }
}

TEST_CASE("top-p draws from the smallest sufficient set", "[policy][draw]") {
  // Tokens 1 and 6 hold about 0.30 each, then 4 with 0.19, 2 with 0.11.
  std::map<float, std::set<int32_t>> expected{{1e-6f, {1}},
                                              {0.2f, {1}},
                                              {0.5f, {1, 6}},
                                              {0.7f, {1, 4, 6}},
                                              {0.85f, {1, 2, 4, 6}}};
  for (auto& [top_p, allowed] : expected) {
    std::set<int32_t> seen;
    for (uint64_t i = 0; i < 500; ++i)
      seen.insert(draw_token(logits, {1, top_p, i, 1}).token);
    CAPTURE(top_p);
    CHECK(seen == allowed);
  }
}

TEST_CASE("temperature zero takes the likeliest token", "[policy][draw]") {
  for (uint64_t i = 0; i < 20; ++i) {
    auto drawn = draw_token(logits, {0, 0.5f, i, i});
    CHECK(drawn.token == 1);
    CHECK_THAT(drawn.logprob, WithinAbs(std::log(probability(1, 1)), 1e-5));
  }
}

TEST_CASE("a draw is a function of seed and position", "[policy][draw]") {
  std::set<int32_t> by_seed, by_position;
  for (uint64_t i = 0; i < 64; ++i) {
    by_seed.insert(draw_token(logits, {1, 1, i, 0}).token);
    by_position.insert(draw_token(logits, {1, 1, 0, i}).token);
    CHECK(draw_token(logits, {1, 1, i, 5}).token
          == draw_token(logits, {1, 1, i, 5}).token);
  }
  CHECK(by_seed.size() > 3);
  CHECK(by_position.size() > 3);
}
