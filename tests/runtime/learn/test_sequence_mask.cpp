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
  auto report = summarise(judged, std::vector<double>{1, 1, -1, 0}, 0.5);
  CHECK(report.step == 9);
  CHECK(report.masked_positive == 1);
  CHECK(report.masked_negative == 1);
  CHECK(report.masked_zero == 1);
  CHECK(report.staleness_max == 3);
  CHECK(report.staleness_mean == Approx(1.5));
  CHECK(report.mean_abs_max == 3);
}
