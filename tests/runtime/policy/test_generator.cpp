#include "runtime/policy/cpu_policy.hpp"
#include "runtime/policy/live_sequences.hpp"
#include "runtime/policy/model_weights.hpp"
#include "tests/runtime/policy/small_policy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <thread>

using namespace swage;
using test::run_all;
using test::small_config;
using test::small_request;

namespace {

std::unique_ptr<generator> make(generator_options options,
                                parallel_runner parallel = {}) {
  options.max_tokens = std::min<uint32_t>(options.max_tokens, 64);
  auto out = make_cpu_generator(small_config(),
                                random_weights(small_config(), 1), options,
                                std::move(parallel));
  REQUIRE(out);
  return std::move(*out);
}

snapshot weights_of_version(uint64_t version, uint64_t seed) {
  auto out = random_weights(small_config(), seed);
  out.what.version = version;
  return out;
}

bool same(const sequence_output& a, const sequence_output& b) {
  return a.tokens == b.tokens && a.logprobs == b.logprobs
         && a.finish == b.finish;
}

/// Two threads of its own for each call.
void on_two_threads(int64_t count,
                    const std::function<void(int64_t, int64_t)>& body) {
  std::jthread other{[&] { body(0, count / 2); }};
  body(count / 2, count);
}

} // namespace

TEST_CASE("equal prompts are computed once", "[policy][generator]") {
  decoder model{small_config()};
  REQUIRE(model.load(random_weights(small_config(), 1)));
  live_sequences live{model, {.max_live = 12, .max_tokens = 64}};
  std::deque<sequence_request> waiting;
  uint64_t expected = 0;
  for (uint64_t id = 0; id < 12; ++id) {
    waiting.push_back(small_request(id, id / 4));
    if (id % 4 == 0)
      expected += waiting.back().prompt.size() - 1;
  }
  // Those that come later take it from one that is still being decoded,
  for (uint64_t id = 0; id < 2; ++id)
    waiting.push_back(small_request(12 + id, 2));
  live.admit(waiting, 0);
  CHECK(live.size() == 12);
  CHECK(live.prefilled() == expected);
  live.cancel(0);
  live.cancel(1);
  live.admit(waiting, 0);
  CHECK(waiting.empty());
  CHECK(live.prefilled() == expected);
  // unless it was computed by other weights.
  live.cancel(2);
  auto late = small_request(20, 2);
  auto alone = late.prompt.size() - 1;
  waiting.push_back(std::move(late));
  live.admit(waiting, 1);
  CHECK(live.prefilled() == expected + alone);
}

TEST_CASE("a sequence does not depend on its batch", "[policy][generator]") {
  auto together = make({.max_live = 13});
  for (uint64_t id = 0; id < 40; ++id)
    REQUIRE(together->submit(small_request(id, id / 4)));
  auto outputs = run_all(*together);
  REQUIRE(outputs.size() == 40);
  auto alone = make({.max_live = 1});
  for (uint64_t id = 0; id < 40; ++id) {
    REQUIRE(alone->submit(small_request(id, id / 4)));
    CHECK(same(run_all(*alone)[id], outputs[id]));
  }
  auto threaded = make({.max_live = 40}, on_two_threads);
  for (uint64_t id = 40; id-- > 0;)
    REQUIRE(threaded->submit(small_request(id, id / 4)));
  for (auto& [id, output] : run_all(*threaded))
    CHECK(same(output, outputs[id]));
}

TEST_CASE("scores equal the log probabilities of generation",
          "[policy][generator]") {
  auto policy = make({.max_live = 16});
  for (uint64_t id = 0; id < 32; ++id) {
    auto request = small_request(id, id);
    request.how.temperature = 0.8f;
    request.how.top_p = 0.9f;
    REQUIRE(policy->submit(request));
  }
  auto outputs = run_all(*policy);
  std::vector<std::vector<int32_t>> prompts;
  for (uint64_t id = 0; id < 32; ++id)
    prompts.push_back(small_request(id, id).prompt);
  std::vector<scored_sequence> sequences;
  for (uint64_t id = 0; id < 32; ++id)
    sequences.push_back({prompts[id], outputs[id].tokens});
  auto scores = policy->score(sequences, 0.8f);
  REQUIRE(scores);
  auto other = make_cpu_scorer(small_config(),
                               random_weights(small_config(), 1));
  REQUIRE(other);
  CHECK(*(*other)->score(sequences, 0.8f) == *scores);
  // By the same path: no floor at all.
  for (uint64_t id = 0; id < 32; ++id)
    CHECK((*scores)[id] == outputs[id].logprobs);
}

TEST_CASE("responses end at the end token or the limit",
          "[policy][generator]") {
  auto policy = make({.max_live = 64});
  for (uint64_t id = 0; id < 64; ++id)
    REQUIRE(policy->submit(small_request(id, id)));
  size_t stopped = 0;
  for (auto& [id, output] : run_all(*policy)) {
    auto end = std::find(output.tokens.begin(), output.tokens.end(), 3);
    if (output.finish == finish_reason::stop) {
      ++stopped;
      CHECK(end == output.tokens.end() - 1);
    } else {
      CHECK(end == output.tokens.end());
      CHECK(output.tokens.size() == 30);
    }
    CHECK(output.logprobs.size() == output.tokens.size());
  }
  CHECK(stopped > 0);
  CHECK(stopped < 64);
  auto tight = make({.max_live = 1, .max_tokens = 12});
  auto request = small_request(1, 3); // 8 tokens of prompt
  request.seed = 1;
  REQUIRE(tight->submit(request));
  CHECK(run_all(*tight)[1].tokens.size() <= 4);
}

TEST_CASE("new weights arrive between two steps and stamp tokens",
          "[policy][generator]") {
  auto recompute = GENERATE(false, true);
  auto policy = make({.max_live = 8, .recompute_cache = recompute});
  for (uint64_t id = 0; id < 8; ++id) {
    auto request = small_request(id, id);
    request.how.max_new_tokens = 10;
    REQUIRE(policy->submit(request));
  }
  std::map<uint64_t, sequence_output> outputs;
  for (int i = 0; i < 10; ++i) {
    if (i == 4)
      REQUIRE(policy->load(weights_of_version(5, 2)));
    for (auto& ended : policy->step())
      outputs[ended.id] = ended;
  }
  REQUIRE(outputs.size() == 8);
  auto newer = make_cpu_scorer(small_config(), weights_of_version(5, 2));
  REQUIRE(newer);
  for (auto& [id, output] : outputs) {
    if (output.tokens.size() < 5)
      continue;
    REQUIRE(output.versions.size() == 2);
    CHECK(output.versions[0].version == 0);
    CHECK(output.versions[0].count == 4);
    CHECK(output.versions[1].version == 5);
    CHECK(output.versions[1].count == output.tokens.size() - 4);
    // Only a cache that was computed anew scores as the new weights do.
    auto prompt = small_request(id, id).prompt;
    scored_sequence sequence{prompt, output.tokens};
    auto scores = (*newer)->score({&sequence, 1}, 1.0f);
    REQUIRE(scores);
    bool equal = std::equal(output.logprobs.begin() + 4, output.logprobs.end(),
                            (*scores)[0].begin() + 4);
    CHECK(equal == recompute);
  }
}

TEST_CASE("a prompt's cache is not shared across versions",
          "[policy][generator]") {
  auto policy = make({.max_live = 4});
  REQUIRE(policy->submit(small_request(0, 9)));
  policy->step();
  REQUIRE(policy->load(weights_of_version(1, 2)));
  REQUIRE(policy->submit(small_request(1, 9)));
  auto outputs = run_all(*policy);
  auto fresh = make({.max_live = 4});
  REQUIRE(fresh->load(weights_of_version(1, 2)));
  REQUIRE(fresh->submit(small_request(1, 9)));
  CHECK(same(run_all(*fresh)[1], outputs[1]));
}

TEST_CASE("damaged weights leave the old ones in use", "[policy][generator]") {
  auto policy = make({.max_live = 2});
  auto damaged = weights_of_version(3, 2);
  damaged.what.checksum ^= 1;
  auto refused = policy->load(damaged);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::corrupt);
  CHECK(policy->version() == 0);
  REQUIRE(policy->submit(small_request(1, 1)));
  auto untouched = make({.max_live = 2});
  REQUIRE(untouched->submit(small_request(1, 1)));
  CHECK(same(run_all(*policy)[1], run_all(*untouched)[1]));
}

TEST_CASE("cancelled sequences leave and the others go on",
          "[policy][generator]") {
  auto policy = make({.max_live = 2});
  for (uint64_t id = 0; id < 4; ++id)
    REQUIRE(policy->submit(small_request(id, id)));
  policy->step();
  policy->cancel(1);  // live
  policy->cancel(3);  // queued
  policy->cancel(99); // unknown
  auto outputs = run_all(*policy);
  CHECK(outputs.size() == 2);
  CHECK(outputs.count(0) == 1);
  CHECK(outputs.count(2) == 1);
}

TEST_CASE("requests that cannot be served are refused", "[policy][generator]") {
  auto policy = make({.max_live = 2});
  auto refuse = [&](auto change) {
    auto request = small_request(1, 1);
    change(request);
    auto refused = policy->submit(request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ec::invalid_argument);
  };
  refuse([](auto& request) { request.prompt.clear(); });
  refuse([](auto& request) { request.prompt.resize(64); });
  refuse([](auto& request) { request.prompt[0] = 61; });
  refuse([](auto& request) { request.prompt[0] = -1; });
  refuse([](auto& request) { request.how.max_new_tokens = 0; });
  refuse([](auto& request) { request.how.temperature = NAN; });
  refuse([](auto& request) { request.how.top_p = 0; });
  CHECK(policy->pending() == 0);
  scored_sequence empty;
  CHECK_FALSE(policy->score({&empty, 1}, 1));
}
