#include "runtime/policy/torch/gloo_collective.hpp"
#include "runtime/policy/torch/torch_trainer.hpp"
#include "tests/runtime/policy/oracle.hpp"
#include "tests/runtime/policy/trained_policy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <functional>
#include <thread>

using namespace swage;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using test::value_of;

namespace {

/// Long enough for a loaded machine, and for a test that waits for it.
constexpr double deadline_s = 3;

/// Calls `what` for each rank at the same time.
void on_all(size_t ranks, const std::function<void(size_t)>& what) {
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back(what, rank);
}

std::vector<std::unique_ptr<torch_trainer>> joined_trainers(uint32_t ranks) {
  auto ends = value_of(gloo_collective::connect(ranks, deadline_s));
  std::vector<std::unique_ptr<torch_trainer>> out;
  for (auto& end : ends)
    out.push_back(test::small_trainer(std::move(end)));
  return out;
}

} // namespace

TEST_CASE("a sum is the same in every rank", "[policy][ranks]") {
  auto ends = value_of(gloo_collective::connect(3, deadline_s));
  std::vector<std::vector<float>> values(3);
  std::vector<double> figures[3];
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK(ends[rank]->rank() == rank);
    CHECK(ends[rank]->size() == 3);
    for (int i = 0; i < 1000; ++i)
      values[rank].push_back(std::sin(static_cast<float>(i) + 0.1f
                             * static_cast<float>(rank)));
    figures[rank] = {0.5, std::pow(10.0, static_cast<double>(rank))};
  }
  auto given = values;
  std::vector<result<void>> done(3);
  on_all(3, [&](size_t rank) {
    done[rank] = ends[rank]->sum(figures[rank]);
    if (done[rank])
      done[rank] = ends[rank]->sum(values[rank]);
  });
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(done[rank]);
    CHECK(values[rank] == values[0]);
    CHECK(figures[rank][0] == 1.5);
    CHECK(figures[rank][1] == 111);
  }
  for (size_t i = 0; i < 1000; ++i) {
    double sum = 0;
    for (auto& one : given)
      sum += static_cast<double>(one[i]);
    CHECK(std::abs(sum - static_cast<double>(values[0][i])) < 1e-6);
  }
}

TEST_CASE("a rank does not wait for ever", "[policy][ranks]") {
  auto ends = value_of(gloo_collective::connect(2, deadline_s));
  const bool gone = GENERATE(false, true);
  if (gone)
    ends[1].reset();
  std::vector<float> values(10);
  auto summed = ends[0]->sum(values);
  REQUIRE_FALSE(summed);
  CHECK(summed.error().code == ec::infra);
  CHECK_THAT(summed.error().message,
             ContainsSubstring("learner rank 0 of 2 cannot reach the others: "));
}

TEST_CASE("ranks take the step that one takes alone", "[policy][ranks]") {
  const uint32_t ranks = GENERATE(2, 3);
  auto alone = test::small_trainer();
  auto together = joined_trainers(ranks);
  auto samples = test::some_samples(*alone, 12, 61);
  samples[4].kept = false;
  samples[0].on_policy = true;
  alone->set_reference();
  for (auto& one : together)
    one->set_reference();
  for (auto what : {objective::sft, objective::grpo, objective::grpo}) {
    train_options options;
    options.what = what;
    options.lr = 1e-5; // AdamW makes large steps of small differences.
    options.kl_coefficient = 0.1;
    options.micro_batch_tokens = 64;
    options.threads = 1;
    auto expected = value_of(alone->step(samples, options));
    std::vector<result<step_report>> reports(ranks);
    on_all(ranks, [&](size_t rank) {
      reports[rank] = together[rank]->step(samples, options);
    });
    for (size_t rank = 0; rank < ranks; ++rank) {
      auto report = value_of(reports[rank]);
      CHECK_THAT(report.loss, WithinRel(expected.loss, 1e-4));
      CHECK_THAT(report.grad_norm, WithinRel(expected.grad_norm, 1e-4));
      CHECK_THAT(report.entropy, WithinRel(expected.entropy, 1e-4));
      CHECK(report.tokens == expected.tokens);
      CHECK(report.kept == expected.kept);
      CHECK(report.floor_tokens == expected.floor_tokens);
      CHECK(test::largest_difference(together[rank]->gradients(),
                                     alone->gradients())
            < 1e-5);
      CHECK(together[rank]->copy_weights(1).what.checksum
            == together[0]->copy_weights(1).what.checksum);
    }
  }
}

TEST_CASE("what one rank cannot train, none trains", "[policy][ranks]") {
  auto together = joined_trainers(2);
  auto samples = test::some_samples(*together[0], 12, 61);
  const auto before = together[0]->copy_weights(0).what.checksum;
  samples[2].advantage = -3e38; // Its loss overflows, in one rank only.
  train_options options;
  options.micro_batch_tokens = 64;
  std::vector<result<step_report>> reports(2);
  on_all(2, [&](size_t rank) {
    reports[rank] = together[rank]->step(samples, options);
  });
  std::string told;
  for (size_t rank = 0; rank < 2; ++rank) {
    REQUIRE_FALSE(reports[rank]);
    CHECK_THAT(reports[rank].error().message,
               ContainsSubstring("the weights are unchanged"));
    told += reports[rank].error().message;
    CHECK(together[rank]->copy_weights(0).what.checksum == before);
  }
  CHECK_THAT(told, ContainsSubstring("begins with sample")
                     && ContainsSubstring("of another rank"));
}

TEST_CASE("ranks resume bit for bit from the first one's checkpoint",
          "[policy][ranks]") {
  auto straight = joined_trainers(2);
  auto samples = test::some_samples(*straight[0], 8, 61);
  train_options options;
  options.micro_batch_tokens = 64;
  options.threads = 1;
  options.lr = 0.003;
  auto step = [&](std::vector<std::unique_ptr<torch_trainer>>& ranks) {
    on_all(2, [&](size_t rank) { (void)ranks[rank]->step(samples, options); });
  };
  step(straight);
  test::temporary_folder folder;
  REQUIRE(straight[0]->save(folder.path()));
  auto resumed = joined_trainers(2);
  for (auto& one : resumed)
    REQUIRE(one->load(folder.path()));
  step(straight);
  step(resumed);
  for (size_t rank = 0; rank < 2; ++rank)
    CHECK(straight[0]->copy_weights(2).what.checksum
          == resumed[rank]->copy_weights(2).what.checksum);
}
