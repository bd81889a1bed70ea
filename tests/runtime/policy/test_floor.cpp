#include "runtime/policy/model_weights.hpp"
#include "runtime/policy/torch/torch_trainer.hpp"
#include "runtime/policy/torch_policy.hpp"
#include "tests/runtime/policy/oracle.hpp"
#include "tests/runtime/policy/small_policy.hpp"
#include "tests/runtime/policy/trained_policy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <algorithm>
#include <cmath>

using namespace swage;
using test::value_of;
using Catch::Matchers::WithinAbs;
using logprob_lists = std::vector<std::vector<float>>;

namespace {

/// The largest difference, or NaN if there is one.
double distance(const logprob_lists& a, const logprob_lists& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t t = 0; t < a[i].size(); ++t) {
      double d = std::abs(static_cast<double>(a[i][t])
                          - static_cast<double>(b[i][t]));
      worst = d > worst || std::isnan(d) ? d : worst;
    }
  }
  return worst;
}

} // namespace

TEST_CASE("rollout, scorer and trainer agree at equal weights",
          "[policy][floor]") {
  test::temporary_folder folder;
  test::run_oracle({"model", folder.path().string(), "untied"});
  generator_options options{.max_live = 24, .max_tokens = 160, .threads = 2};
  auto policy = value_of(make_generator(folder.path(), options, 0));
  auto scorer = value_of(make_scorer(folder.path(), 1));
  auto trainer = value_of(torch_trainer::open(folder.path(), {}, 0));
  set_torch_threads(1);
  for (uint64_t id = 0; id < 64; ++id) {
    auto request = test::small_request(id, id / 8);
    request.how.max_new_tokens = 120;
    request.how.temperature = 0.9f;
    REQUIRE(policy->submit(request));
  }
  auto outputs = test::run_all(*policy);
  REQUIRE(outputs.size() == 64);
  std::vector<std::vector<int32_t>> prompts;
  for (uint64_t id = 0; id < 64; ++id)
    prompts.push_back(test::small_request(id, id / 8).prompt);
  std::vector<scored_sequence> sequences;
  logprob_lists generated;
  for (auto& [id, output] : outputs) {
    sequences.push_back({prompts[id], output.tokens});
    generated.push_back(output.logprobs);
  }
  auto rescored = distance(value_of(policy->score(sequences, 0.9f)), generated);
  auto mirrored = distance(value_of(scorer->score(sequences, 0.9f)), generated);
  auto trained = distance(value_of(trainer->score(sequences, 0.9f)), generated);
  WARN("floor: generator " << rescored << ", scorer " << mirrored
                           << ", trainer " << trained);
  CHECK(rescored == 0);
  CHECK(mirrored == 0);
  CHECK_THAT(trained, WithinAbs(0, 1e-4));

  // A step reports it of what is on-policy, and of nothing else.
  std::vector<train_sample> samples;
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto& [prompt, response] = sequences[i];
    samples.push_back({{prompt.begin(), prompt.end()},
                       {response.begin(), response.end()},
                       generated[i]});
    samples.back().on_policy = true;
  }
  samples[0].on_policy = false;
  for (auto& logprob : samples[0].behaviour)
    logprob -= 1;
  auto report = value_of(trainer->step(samples, {.temperature = 0.9f}));
  CHECK(report.floor_tokens == report.tokens - samples[0].response.size());
  CHECK(report.floor > 0);
  CHECK(report.floor <= trained);
  CHECK(report.mean_abs_log_ratio > 100 * report.floor);
}

TEST_CASE("a trainer's snapshot moves the rollout with it", "[policy][floor]") {
  test::temporary_folder folder;
  test::run_oracle({"model", folder.path().string()});
  generator_options options{.max_live = 4, .max_tokens = 128};
  auto policy = value_of(make_generator(folder.path(), options, 0));
  auto trainer = value_of(torch_trainer::open(folder.path(), {}, 0));
  train_sample sample{{1, 2, 3}, {4, 5, 6, 8, 7}, {}, 1, true};
  train_options how;
  how.what = objective::sft;
  how.lr = 0.01;
  scored_sequence sequence{sample.prompt, sample.response};
  auto before = value_of(policy->score({&sequence, 1}, 1));
  for (int i = 0; i < 3; ++i)
    CHECK(value_of(trainer->step({&sample, 1}, how)).stepped);
  auto weights = trainer->copy_weights(3);
  CHECK(is_whole(weights));
  REQUIRE(policy->load(weights));
  CHECK(policy->version() == 3);
  auto after = value_of(policy->score({&sequence, 1}, 1));
  CHECK(distance(before, after) > 0.1);
  CHECK_THAT(distance(after, value_of(trainer->score({&sequence, 1}, 1))),
             WithinAbs(0, 1e-4));
}

TEST_CASE("without weights all parts draw the same ones", "[policy][floor]") {
  test::temporary_folder folder;
  test::run_oracle({"model", folder.path().string()});
  std::filesystem::remove(folder.path() / "model.safetensors");
  auto trainer = value_of(torch_trainer::open(folder.path(), {}, 42));
  auto other = value_of(torch_trainer::open(folder.path(), {}, 43));
  auto config = value_of(load_model_config(folder.path() / "config.json"));
  CHECK(trainer->copy_weights(0).what.checksum
        == random_weights(config, 42).what.checksum);
  CHECK(trainer->copy_weights(0).what.checksum
        != other->copy_weights(0).what.checksum);
}
