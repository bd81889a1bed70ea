#include "kernels/aligned.hpp"
#include "kernels/causal_attention.hpp"
#include "kernels/reference.hpp"
#include "kernels/training_kernels.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <functional>
#include <random>
#include <span>

using namespace swage::kernels;
using Catch::Matchers::WithinAbs;

namespace {

float_buffer random_values(int64_t count, uint32_t seed) {
  std::mt19937 engine{seed};
  std::normal_distribution<float> draw{0, 1};
  float_buffer out(static_cast<size_t>(count));
  for (auto& value : out)
    value = draw(engine);
  return out;
}

const training_kernels& variant() {
  auto name = GENERATE("generic", "x86_64_v3", "x86_64_v4");
  INFO(name);
  auto* found = training_variant(name);
  if (!found)
    SKIP("this machine cannot run the kernels of " << name);
  return *found;
}

using values = reference::values;

double weighted(const values& out, std::span<const float> weights) {
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i)
    sum += out[i] * static_cast<double>(weights[i]);
  return sum;
}

/// Compares with central differences of `loss`, computed in double.
void check_gradient(std::span<const float> found, std::span<float> input,
                    const std::function<double()>& loss) {
  REQUIRE(found.size() == input.size());
  double worst = 0;
  for (size_t i = 0; i < input.size(); ++i) {
    float kept = input[i];
    input[i] = kept + 0.002f;
    double high = loss(), above = input[i];
    input[i] = kept - 0.002f;
    double low = loss(), below = input[i];
    input[i] = kept;
    double expected = (high - low) / (above - below);
    double d = std::abs(static_cast<double>(found[i]) - expected)
               / (1 + std::abs(expected));
    worst = d > worst || std::isnan(d) ? d : worst;
  }
  CHECK_THAT(worst, WithinAbs(0, 2e-4));
}

} // namespace

TEST_CASE("the norm's gradient agrees with differences",
          "[kernels][training]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{3}, 16, 33);
  CAPTURE(size);
  auto x = random_values(2 * size, 1), weight = random_values(size, 2);
  auto grad = random_values(2 * size, 3);
  float_buffer dx(x.size()), dw(weight.size());
  cpu.rms_norm({x.data(), 2, size}, weight.data(), {grad.data(), 2, size},
               {{dx.data(), 2, size}, dw.data()}, 1e-6f);
  auto loss = [&] {
    double sum = 0;
    for (size_t r = 0; r < 2; ++r) {
      auto at = r * weight.size();
      sum += weighted(reference::rms_norm(
                        std::span{x}.subspan(at, weight.size()), weight, 1e-6),
                      std::span{grad}.subspan(at, weight.size()));
    }
    return sum;
  };
  check_gradient(dx, x, loss);
  check_gradient(dw, weight, loss);
}

TEST_CASE("the rotated head's gradient agrees with differences",
          "[kernels][training]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{2}, 20, 32);
  CAPTURE(size);
  auto head = random_values(size, 4), weight = random_values(size, 5);
  auto grad = random_values(size, 6);
  float_buffer cosines, sines;
  for (int64_t i = 0; i < size / 2; ++i) {
    cosines.push_back(std::cos(0.4f * static_cast<float>(i + 1)));
    sines.push_back(std::sin(0.4f * static_cast<float>(i + 1)));
  }
  float_buffer dx(head.size()), dw(head.size());
  cpu.norm_rotate({head.data(), grad.data(), dx.data(), dw.data()},
                  weight.data(), {cosines.data(), sines.data()}, size, 1e-6f);
  auto loss = [&] {
    return weighted(reference::norm_rotate(head, weight, 1e-6, cosines, sines),
                    grad);
  };
  check_gradient(dx, head, loss);
  check_gradient(dw, weight, loss);
}

TEST_CASE("the gated unit's gradient agrees with differences",
          "[kernels][training]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{1}, 16, 35);
  CAPTURE(size);
  auto x = random_values(2 * size, 7), grad = random_values(size, 8);
  float_buffer dx(x.size());
  cpu.silu_multiply({x.data(), 1, 2 * size}, {grad.data(), 1, size},
                    {dx.data(), 1, 2 * size}, size);
  check_gradient(dx, x,
                 [&] { return weighted(reference::silu_multiply(x), grad); });
}

TEST_CASE("causal attention and its gradient are right",
          "[kernels][training]") {
  auto length = GENERATE(int64_t{1}, 31, 48, 49, 70);
  auto dim = GENERATE(int64_t{6}, 36);
  CAPTURE(length, dim);
  constexpr int64_t sharing = 2;
  auto q = random_values(length * sharing * dim, 9);
  auto k = random_values(length * dim, 10), v = random_values(length * dim, 11);
  auto grad = random_values(length * sharing * dim, 12);
  auto wide = sharing * dim;
  attended_sequence in{{q.data(), length, wide},
                       {k.data(), length, dim},
                       {v.data(), length, dim},
                       sharing,
                       dim};
  float_buffer out(q.size()), dq(q.size()), dk(k.size()), dv(v.size());
  causal_attention(in, {out.data(), length, wide});
  causal_attention_gradient(in, {grad.data(), length, wide},
                            {{dq.data(), length, wide},
                             {dk.data(), length, dim},
                             {dv.data(), length, dim}});
  auto of_head = [&](const float_buffer& x, int64_t h) {
    float_buffer rows;
    for (int64_t r = 0; r < length; ++r)
      for (int64_t d = 0; d < dim; ++d)
        rows.push_back(x[static_cast<size_t>(r * wide + h * dim + d)]);
    return rows;
  };
  double worst = 0;
  for (int64_t h = 0; h < sharing; ++h) {
    auto expected = reference::causal_attention(of_head(q, h), k, v, dim);
    auto found = of_head(out, h);
    for (size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst,
                       std::abs(static_cast<double>(found[i]) - expected[i]));
  }
  CHECK_THAT(worst, WithinAbs(0, 1e-5));
  if (length * dim > 500)
    return; // Differences of all elements would take seconds.
  auto loss = [&] {
    double sum = 0;
    for (int64_t h = 0; h < sharing; ++h)
      sum += weighted(reference::causal_attention(of_head(q, h), k, v, dim),
                      of_head(grad, h));
    return sum;
  };
  check_gradient(dq, q, loss);
  check_gradient(dk, k, loss);
  check_gradient(dv, v, loss);
}
