#include "runtime/policy/model_weights.hpp"
#include "runtime/policy/safetensors.hpp"
#include "runtime/policy/torch/micro_batches.hpp"
#include "runtime/policy/torch/torch_trainer.hpp"
#include "tests/runtime/policy/oracle.hpp"
#include "tests/runtime/policy/small_policy.hpp"
#include "tests/runtime/policy/trained_policy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <random>
#include <tuple>

using namespace swage;
using namespace swage::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Every third token is masked, others weigh 0.7 to 1.3.
void weigh(std::vector<train_sample>& samples) {
  for (auto& sample : samples)
    for (size_t t = 0; t < sample.response.size(); ++t)
      sample.weights.push_back(
        t % 3 == 1 ? 0.0f : 0.7f + 0.1f * static_cast<float>(t % 7));
}

train_options grpo_options() {
  train_options out;
  out.temperature = 0.9f;
  out.micro_batch_tokens = 64;
  out.lr = 0.003;
  return out;
}

/// Writes what the oracle needs to compute the same step.
void write_samples(const fs::path& file, std::span<const train_sample> samples,
                   const train_options& options) {
  json out{{"objective", options.what == objective::sft ? "sft" : "grpo"},
           {"temperature",
            options.what == objective::sft ? 1.0 : double{options.temperature}},
           {"clip_low", options.clip_low},
           {"clip_high", options.clip_high},
           {"kl", options.kl_coefficient}};
  for (auto& sample : samples)
    out["samples"].push_back({{"prompt", sample.prompt},
                              {"response", sample.response},
                              {"behaviour", sample.behaviour},
                              {"advantage", sample.advantage},
                              {"group", sample.group},
                              {"weights", sample.weights}});
  test::write_file(file, out.dump());
}

} // namespace

TEST_CASE("gradients are those of the plain formula", "[policy][trainer]") {
  test::temporary_folder folder;
  auto reference = folder.path() / "reference";
  fs::create_directory(reference);
  test::run_oracle({"model", reference.string(), "untied"});
  auto trainer = value_of(torch_trainer::open(reference, {}, 0));
  auto config = value_of(load_model_config(reference / "config.json"));
  trainer->set_reference();
  // Away from the reference, so that the KL term has a gradient.
  auto samples = some_samples(*trainer, 9, 300);
  auto options = grpo_options();
  options.what = objective::sft;
  options.lr = 0.002;
  value_of(trainer->step(samples, options));
  REQUIRE(trainer->save(folder.path()));

  auto weighed = false;
  std::tie(options.what, weighed) = GENERATE(
    table<objective, bool>({{objective::sft, false},
                            {objective::grpo, false},
                            {objective::grpo, true}}));
  if (weighed)
    weigh(samples);
  options.kl_coefficient = options.what == objective::grpo ? 0.3 : 0;
  options.lr = 0;
  write_samples(folder.path() / "samples.json", samples, options);
  test::run_oracle({"grpo", folder.path().string()});
  auto expected = value_of(
    safetensors_file::open(folder.path() / "gradients.safetensors"));

  auto report = value_of(trainer->step(samples, options));
  std::vector<float> loss(1);
  REQUIRE(to_float32(value_of(expected.find("loss")), loss));
  CHECK_THAT(report.loss, WithinRel(static_cast<double>(loss[0]), 1e-4));
  if (options.what == objective::grpo && !weighed) {
    CHECK(report.clip_fraction > 0.05);
    CHECK(report.clip_fraction < 0.95);
  }
  double norm = 0;
  for (auto& entry : parameter_layout(config)) {
    CAPTURE(entry.name);
    std::vector<float> gradient(entry.bytes / sizeof(float));
    REQUIRE(to_float32(value_of(expected.find(entry.name)), gradient));
    auto found = trainer->gradients().subspan(entry.offset / sizeof(float),
                                              gradient.size());
    double largest = 0;
    for (double value : gradient) {
      largest = std::max(largest, std::abs(value));
      norm += value * value;
    }
    CHECK(largest > 0);
    CHECK(largest_difference(found, gradient) <= 1e-3 * largest + 1e-6);
  }
  CHECK_THAT(report.grad_norm, WithinRel(std::sqrt(norm), 1e-3));
}

TEST_CASE("masked samples have no influence at all", "[policy][trainer]") {
  auto trainer = small_trainer(), other = small_trainer();
  auto samples = some_samples(*trainer, 8, 61);
  auto with_masked = samples;
  train_sample masked = samples[0];
  masked.kept = false;
  masked.behaviour.assign(masked.response.size(), NAN);
  masked.advantage = INFINITY;
  with_masked.insert(with_masked.begin() + 3, masked);
  masked.response = {100000};
  with_masked.push_back(masked);
  auto a = value_of(trainer->step(samples, grpo_options()));
  auto b = value_of(other->step(with_masked, grpo_options()));
  CHECK(a.loss == b.loss);
  CHECK(a.tokens == b.tokens);
  CHECK(b.samples == 10);
  CHECK(b.kept == 8);
  CHECK(trainer->copy_weights(1).what.checksum
        == other->copy_weights(1).what.checksum);
}

TEST_CASE("a masked token's ratio cannot overflow", "[policy][trainer]") {
  auto trainer = small_trainer(), other = small_trainer();
  auto samples = some_samples(*trainer, 8, 61);
  weigh(samples);
  auto changed = samples;
  for (auto& sample : changed)
    for (size_t t = 0; t < sample.weights.size(); ++t)
      if (sample.weights[t] == 0)
        sample.behaviour[t] = -1000;
  value_of(trainer->step(samples, grpo_options()));
  value_of(other->step(changed, grpo_options()));
  CHECK(trainer->copy_weights(1).what.checksum
        == other->copy_weights(1).what.checksum);
}

TEST_CASE("weights that cannot be used are refused", "[policy][trainer]") {
  auto trainer = small_trainer();
  auto check = [&](std::vector<float> weights, const char* what) {
    auto samples = some_samples(*trainer, 2, 61);
    for (auto& sample : samples)
      sample.weights.assign(sample.response.size(), 1);
    samples[1].weights = std::move(weights);
    auto refused = trainer->step(samples, grpo_options());
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, ContainsSubstring(what));
  };
  check({}, "sample 1: it has weights for its tokens where another has none");
  check({1, 1}, "sample 1: it has 2 weights for 6 tokens");
  check({1, NAN, 1, 1, 1, 1}, "has a weight of nan");
  check({1, -1, 1, 1, 1, 1}, "has a weight of -1");
}

TEST_CASE("the denominator counts kept tokens or all", "[policy][trainer]") {
  auto trainer = small_trainer(), other = small_trainer();
  auto samples = some_samples(*trainer, 8, 61);
  double kept = 0, all = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].group = 5;
    samples[i].kept = i % 3 != 0;
    all += static_cast<double>(samples[i].response.size());
    kept += samples[i].kept ? static_cast<double>(samples[i].response.size())
                            : 0;
  }
  auto options = grpo_options();
  auto by_kept = value_of(trainer->step(samples, options));
  options.denominator_all = true;
  auto by_all = value_of(other->step(samples, options));
  CHECK_THAT(by_all.grad_norm, WithinRel(by_kept.grad_norm * kept / all, 1e-4));
}

TEST_CASE("groups count alike, however long they are", "[policy][trainer]") {
  auto trainer = small_trainer();
  auto samples = some_samples(*trainer, 6, 61);
  samples[4].kept = false;
  samples[5].kept = false;
  samples[5].group = 9; // Nothing of it is kept.
  auto kept = token_shares(samples, false), all = token_shares(samples, true);
  auto sum_of = [&](const std::vector<double>& shares, uint64_t group,
                    bool masked_too) {
    double sum = 0;
    for (size_t i = 0; i < samples.size(); ++i)
      if (samples[i].group == group && (masked_too || samples[i].kept))
        sum += shares[i] * static_cast<double>(samples[i].response.size());
    return sum;
  };
  for (uint64_t group : {0, 1, 2}) {
    CHECK_THAT(sum_of(kept, group, false), WithinRel(1.0 / 3, 1e-9));
    CHECK_THAT(sum_of(all, group, true), WithinRel(1.0 / 4, 1e-9));
  }
  CHECK_THAT(sum_of(all, 9, true), WithinRel(1.0 / 4, 1e-9));
}

TEST_CASE("weight decay is the step's own", "[policy][trainer]") {
  auto without = small_trainer(), with = small_trainer();
  auto before = without->copy_weights(0);
  auto samples = some_samples(*without, 4, 61);
  auto options = grpo_options();
  value_of(without->step(samples, options));
  options.weight_decay = 0.5;
  value_of(with->step(samples, options));
  auto config = test::small_config();
  auto weights = [&](const snapshot& from, const std::string& name) {
    auto part = value_of(tensors_of(from, config)).at(name);
    return std::vector<float>{part.begin(), part.end()};
  };
  auto a = without->copy_weights(1), b = with->copy_weights(1);
  for (auto& entry : parameter_layout(config)) {
    CAPTURE(entry.name);
    auto p = weights(before, entry.name), q = weights(a, entry.name),
         r = weights(b, entry.name);
    bool decays = entry.shape.size() > 1
                  && entry.name != "model.embed_tokens.weight";
    for (size_t i = 0; i < p.size(); ++i)
      q[i] -= decays ? static_cast<float>(options.lr * 0.5) * p[i] : 0;
    CHECK(largest_difference(q, r) < 5e-7); // A rounding of weights near 1.
  }
}

TEST_CASE("micro batches add up to the whole batch", "[policy][trainer]") {
  auto whole = small_trainer(), parts = small_trainer();
  auto samples = some_samples(*whole, 12, 61);
  auto options = grpo_options();
  options.micro_batch_tokens = 100000;
  auto a = value_of(whole->step(samples, options));
  options.micro_batch_tokens = 1; // Each sample alone.
  auto b = value_of(parts->step(samples, options));
  CHECK_THAT(a.loss, WithinAbs(b.loss, 1e-5));
  CHECK_THAT(a.entropy, WithinAbs(b.entropy, 1e-4));
  CHECK_THAT(a.mean_abs_log_ratio, WithinAbs(b.mean_abs_log_ratio, 1e-4));
  CHECK(largest_difference(whole->gradients(), parts->gradients())
        < 1e-4 * a.grad_norm);
}

TEST_CASE("a micro batch holds as much as it may", "[policy][trainer]") {
  std::vector<train_sample> samples(400, train_sample{{1, 2}, {3, 4, 5, 6}});
  CHECK(make_micro_batches(samples, {}, objective::sft, 2000).size() == 1);
  CHECK(make_micro_batches(samples, {}, objective::sft, 1000).size() == 2);
}

TEST_CASE("training resumes bit for bit from a checkpoint",
          "[policy][trainer]") {
  auto straight = small_trainer();
  auto samples = some_samples(*straight, 8, 61);
  auto options = grpo_options();
  options.kl_coefficient = 0.1;
  straight->set_reference();
  for (int i = 0; i < 2; ++i)
    value_of(straight->step(samples, options));
  test::temporary_folder folder;
  REQUIRE(straight->save(folder.path()));
  auto resumed = value_of(torch_trainer::open(folder.path(), {}, 99));
  REQUIRE(resumed->load(folder.path()));
  CHECK(read_text(folder.path() / "tokenizer.json")
        == std::string{"{\"copied\": \"as it is\"}"});
  for (int i = 0; i < 2; ++i) {
    auto a = value_of(straight->step(samples, options));
    auto b = value_of(resumed->step(samples, options));
    CHECK(a.loss == b.loss);
  }
  CHECK(straight->copy_weights(4).what.checksum
        == resumed->copy_weights(4).what.checksum);
}

TEST_CASE("a damaged checkpoint leaves the trainer as it was",
          "[policy][trainer]") {
  auto trainer = small_trainer();
  test::temporary_folder folder;
  REQUIRE(trainer->save(folder.path()));
  auto before = trainer->copy_weights(0).what.checksum;
  value_of(trainer->step(some_samples(*trainer, 2, 61), grpo_options()));
  auto now = trainer->copy_weights(0).what.checksum;
  REQUIRE(before != now);
  fs::resize_file(folder.path() / "optimizer.safetensors", 1000);
  auto refused = trainer->load(folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::corrupt);
  CHECK(trainer->copy_weights(0).what.checksum == now);
  fs::remove(folder.path() / "optimizer.safetensors");
  CHECK(trainer->load(folder.path()).error().code == ec::not_found);
}

TEST_CASE("a step that is not finite changes nothing", "[policy][trainer]") {
  auto trainer = small_trainer();
  auto samples = some_samples(*trainer, 4, 61);
  auto before = trainer->copy_weights(0).what.checksum;
  auto check = [&](double advantage, const char* what) {
    samples[2].advantage = advantage;
    auto refused = trainer->step(samples, grpo_options());
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, ContainsSubstring(what));
    CHECK(trainer->copy_weights(0).what.checksum == before);
  };
  check(INFINITY, "sample 2");
  check(-3e38, "the loss is");
  samples[2].advantage = 1;
  samples[1].behaviour[0] = NAN;
  check(1, "sample 1: it has a behaviour log-probability of nan");
  samples[1].behaviour[0] = 0;
  samples[1].response[0] = 61;
  check(1, "token 61 is outside");
}

TEST_CASE("an overflowing gradient names its parameter", "[policy][trainer]") {
  auto trainer = small_trainer();
  auto before = trainer->copy_weights(0).what.checksum;
  // The loss is finite; at half the temperature its gradient is twice as much.
  train_sample sample{{1, 2}, {4}, {}, 3e38, true};
  auto options = grpo_options();
  options.temperature = 0.5f;
  scored_sequence sequence{sample.prompt, sample.response};
  sample.behaviour = value_of(
    trainer->score({&sequence, 1}, options.temperature))[0];
  auto refused = trainer->step({&sample, 1}, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::infra);
  CHECK_THAT(refused.error().message,
             ContainsSubstring("the gradient of model.embed_tokens.weight"));
  CHECK(trainer->copy_weights(0).what.checksum == before);
}

TEST_CASE("a step runs on the threads that it is given",
          "[policy][trainer]") {
  auto trainer = small_trainer();
  auto samples = some_samples(*trainer, 2, 50);
  auto options = grpo_options();
  for (int threads : {3, 1}) {
    options.threads = threads;
    REQUIRE(trainer->step(samples, options));
    CHECK(torch_threads() == threads);
  }
}

TEST_CASE("a batch masked whole takes no step", "[policy][trainer]") {
  auto trainer = small_trainer();
  auto samples = some_samples(*trainer, 3, 61);
  for (auto& sample : samples)
    sample.kept = false;
  auto before = trainer->copy_weights(0).what.checksum;
  auto report = value_of(trainer->step(samples, grpo_options()));
  CHECK_FALSE(report.stepped);
  CHECK(report.samples == 3);
  CHECK(report.kept == 0);
  CHECK(trainer->copy_weights(0).what.checksum == before);
}

TEST_CASE("teaching lowers the loss of its examples", "[policy][trainer]") {
  auto trainer = small_trainer();
  auto samples = some_samples(*trainer, 6, 61);
  train_options options;
  options.what = objective::sft;
  options.lr = 0.01;
  options.grad_clip = 1;
  auto first = value_of(trainer->step(samples, options)).loss;
  for (int i = 0; i < 40; ++i)
    value_of(trainer->step(samples, options));
  CHECK(value_of(trainer->step(samples, options)).loss < 0.2 * first);
}

TEST_CASE("reinforcement moves probability towards the better",
          "[policy][trainer]") {
  auto trainer = small_trainer();
  train_sample good{{1, 2}, {4, 5, 6}, {}, 1, true};
  train_sample bad{{1, 2}, {9, 8, 10}, {}, -1, true};
  auto total = [&](const train_sample& sample) {
    scored_sequence sequence{sample.prompt, sample.response};
    auto scores = value_of(trainer->score({&sequence, 1}, 1))[0];
    return std::pair{scores, scores[0] + scores[1] + scores[2]};
  };
  good.behaviour = total(good).first;
  bad.behaviour = total(bad).first;
  std::vector<train_sample> samples{good, bad};
  train_options options;
  options.lr = 0.003;
  for (int i = 0; i < 5; ++i)
    value_of(trainer->step(samples, options));
  double before_good = 0, before_bad = 0;
  for (float value : good.behaviour)
    before_good += static_cast<double>(value);
  for (float value : bad.behaviour)
    before_bad += static_cast<double>(value);
  CHECK(total(good).second > before_good);
  CHECK(total(bad).second < before_bad);
}
