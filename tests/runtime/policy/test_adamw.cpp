#include "runtime/policy/adamw.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>

using namespace swage;
using Catch::Matchers::WithinAbs;

TEST_CASE("the optimizer follows AdamW's recurrence", "[policy][adamw]") {
  adamw_options options{0.9, 0.95, 1e-8};
  adamw optimizer{options, {{0, 2, true}, {2, 4, false}}};
  // It may differ from step to step: each stage has its own.
  auto decay_at = [](int t) { return t < 10 ? 0.01 : 0.1; };
  std::vector<float> parameters = {1, -2, 1, -2};
  std::vector<double> expected = {1, -2, 1, -2}, m(4), v(4);
  for (int t = 1; t <= 20; ++t) {
    double lr = 0.01 / t;
    std::vector<float> gradients;
    for (int i = 0; i < 4; ++i)
      gradients.push_back(std::sin(static_cast<float>(t + i)));
    optimizer.step(parameters, gradients, {lr, decay_at(t), 0.5});
    for (size_t i = 0; i < 4; ++i) {
      double g = 0.5 * static_cast<double>(gradients[i]);
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      double decay = i < 2 ? lr * decay_at(t) * expected[i] : 0;
      expected[i] -= decay
                     + lr * m[i] / (1 - std::pow(0.9, t))
                         / (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8);
    }
  }
  for (size_t i = 0; i < 4; ++i)
    CHECK_THAT(parameters[i], WithinAbs(expected[i], 1e-5));
  CHECK(optimizer.steps == 20);
}

TEST_CASE("a reset optimizer behaves like a new one", "[policy][adamw]") {
  adamw used{{}, {{0, 1, true}}}, fresh{{}, {{0, 1, true}}};
  std::vector<float> a = {1}, b = {1}, gradient = {0.3f};
  used.step(a, gradient, {0.1, 0.1});
  used.reset();
  a = {1};
  used.step(a, gradient, {0.2, 0.1});
  fresh.step(b, gradient, {0.2, 0.1});
  CHECK(a == b);
}
