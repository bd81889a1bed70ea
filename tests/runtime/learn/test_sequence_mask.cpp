#include "runtime/learn/sequence_mask.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace swage;
using Catch::Approx;

namespace {

std::vector<judgement> judge(const drift_statistic& one, mask_kind kind,
                             double delta) {
  return judge_drift(std::vector{one}, mask_rule{kind, delta, 0}, 1);
}

} // namespace

TEST_CASE("opposite drifts cancel only in the signed mean",
          "[runtime][learn]") {
  std::vector<float> behaviour = {-1, -1, -1, -1};
  std::vector<float> current = {-0.5f, -1.5f, -0.5f, -1.5f};
  auto d = drift(current, behaviour);
  CHECK(d.mean_abs == Approx(0.5));
  CHECK(d.mean_signed == Approx(0));
  CHECK_FALSE(judge(d, mask_kind::mirrorpop, 0.1)[0].kept);
  CHECK(judge(d, mask_kind::geometric, 0.1)[0].kept);
  CHECK(judge(d, mask_kind::none, 0.1)[0].kept);
}

TEST_CASE("a drift equal to the bound is kept", "[runtime][learn]") {
  CHECK(judge({0.02, 0.02}, mask_kind::mirrorpop, 0.02)[0].kept);
}

TEST_CASE("a sequence without numbers is never trained", "[runtime][learn]") {
  auto nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(judge({nan, nan}, mask_kind::mirrorpop, 1)[0].kept);
  CHECK_FALSE(judge({nan, nan}, mask_kind::geometric, 1)[0].kept);
}

TEST_CASE("nothing is clamped in the statistic", "[runtime][learn]") {
  auto d = drift(std::vector<float>{-500}, std::vector<float>{0});
  CHECK(d.mean_abs == 500);
}

TEST_CASE("random masks as many as MirrorPop would", "[runtime][learn]") {
  std::vector<drift_statistic> samples;
  for (int i = 0; i < 100; ++i)
    samples.push_back({i < 30 ? 1.0 : 0.0, 0});
  auto random = judge_drift(samples, {mask_kind::random, 0.5, 7}, 3);
  CHECK(std::count_if(random.begin(), random.end(),
                      [](auto& j) { return !j.kept; })
        == 30);
  auto first = std::count_if(random.begin(), random.begin() + 30,
                             [](auto& j) { return !j.kept; });
  CHECK(first < 30);
  auto again = judge_drift(samples, {mask_kind::random, 0.5, 7}, 3);
  CHECK(std::equal(random.begin(), random.end(), again.begin(),
                   [](auto& a, auto& b) { return a.kept == b.kept; }));
}

TEST_CASE("the absolute mean bounds the signed one", "[runtime][learn]") {
  rc::check([](const std::vector<float>& raw) {
    std::vector<float> current;
    for (auto x : raw)
      current.push_back(std::isfinite(x) ? std::fmod(x, 10.f) : 0.f);
    std::vector<float> behaviour(current.size(), -1.f);
    auto d = drift(current, behaviour);
    RC_ASSERT(std::abs(d.mean_signed) <= d.mean_abs + 1e-9);
  });
}

TEST_CASE("delta follows the measured floor when auto", "[runtime][learn]") {
  learner_config settings;
  settings.seq_mask_delta = 0;
  settings.seq_mask_auto_factor = 4;
  settings.seq_mask_auto_min = 0.02;
  CHECK(make_mask_rule(settings, 0.001).delta == Approx(0.02));
  CHECK(make_mask_rule(settings, 0.01).delta == Approx(0.04));
  settings.seq_mask_delta = 0.5;
  CHECK(make_mask_rule(settings, 0.01).delta == Approx(0.5));
}

TEST_CASE("masked samples are counted by advantage sign", "[runtime][learn]") {
  std::vector<judgement> judged(4);
  for (size_t i = 0; i < 4; ++i) {
    judged[i].step = 9;
    judged[i].kept = i == 0;
    judged[i].staleness = i;
    judged[i].mean_abs = static_cast<double>(i);
  }
  mask_rule rule;
  rule.delta = 0.5;
  auto report = summarise(judged, std::vector<double>{1, 1, -1, 0}, rule);
  CHECK(report.step == 9);
  CHECK(report.masked_positive == 1);
  CHECK(report.masked_negative == 1);
  CHECK(report.masked_zero == 1);
  CHECK(report.staleness_max == 3);
  CHECK(report.staleness_mean == Approx(1.5));
  CHECK(report.mean_abs_max == 3);
  CHECK(report.delta == 0.5);
  CHECK(report.tokens == 0);
}

TEST_CASE("IcePop masks tokens outside of its window", "[runtime][learn]") {
  mask_rule rule;
  rule.kind = mask_kind::icepop;
  rule.low = 0.5;
  rule.high = 5;
  auto log_of = [](double ratio) { return static_cast<float>(std::log(ratio)); };
  std::vector<float> behaviour(6, 0.f);
  auto w = token_weights(std::vector<float>{log_of(0.49), log_of(0.51), 0,
                                            log_of(4.9), log_of(5.1), 500},
                         behaviour, rule);
  CHECK(w[0] == 0);
  CHECK(w[1] == Approx(0.51));
  CHECK(w[2] == 1);
  CHECK(w[3] == Approx(4.9));
  CHECK(w[4] == 0);
  CHECK(w[5] == 0); // exp would overflow.
}

TEST_CASE("TIS cuts ratios to its cap and no lower", "[runtime][learn]") {
  mask_rule rule;
  rule.kind = mask_kind::tis;
  rule.cap = 2;
  auto w = token_weights(std::vector<float>{-1, -0.01f, 0, 0.6f, 0.7f, 500},
                         std::vector<float>(6, 0.f), rule);
  CHECK(w[0] == Approx(std::exp(-1)));
  CHECK(w[1] == Approx(std::exp(-0.01)));
  CHECK(w[2] == 1);
  CHECK(w[3] == Approx(std::exp(0.6)));
  CHECK(w[4] == 2);
  CHECK(w[5] == 2);
}

TEST_CASE("a token without numbers weighs nothing", "[runtime][learn]") {
  auto nan = std::numeric_limits<float>::quiet_NaN();
  auto infinity = std::numeric_limits<float>::infinity();
  for (auto kind : {mask_kind::icepop, mask_kind::tis}) {
    mask_rule rule;
    rule.kind = kind;
    auto w = token_weights(std::vector<float>{nan, -infinity, -1},
                           std::vector<float>{-1, -1, -1}, rule);
    CHECK(w == std::vector<float>{0, 0, 1});
  }
}

TEST_CASE("weighed tokens are counted by what became of them",
          "[runtime][learn]") {
  std::vector<judgement> judged(2);
  judged[0].weights = {0, 1, 2};
  judged[1].weights = {2, 0.5f};
  std::vector<double> advantages = {1, -1};
  mask_rule rule;
  rule.kind = mask_kind::tis;
  auto report = summarise(judged, advantages, rule);
  CHECK(report.tokens == 5);
  CHECK(report.masked_tokens == 1);
  CHECK(report.capped_tokens == 2);
  CHECK(report.delta == 0); // It is none of the rule's bounds.
  rule.kind = mask_kind::icepop; // 2 is a ratio like any other.
  CHECK(summarise(judged, advantages, rule).capped_tokens == 0);
}
