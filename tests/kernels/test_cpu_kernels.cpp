#include "kernels/aligned.hpp"
#include "kernels/cpu_kernels.hpp"
#include "kernels/reference.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <random>
#include <span>
#include <string>

using namespace swage::kernels;
using Catch::Matchers::WithinAbs;

namespace {

float_buffer random_values(size_t count, uint32_t seed, float spread = 1) {
  std::mt19937 engine{seed};
  std::normal_distribution<float> draw{0, spread};
  float_buffer out(count);
  for (auto& value : out)
    value = draw(engine);
  return out;
}

/// Each instruction set that was built and that this machine has.
const cpu_kernels& variant() {
  auto name = GENERATE("generic", "x86_64_v3", "x86_64_v4");
  INFO(name);
  auto* found = cpu_variant(name);
  if (!found)
    SKIP("this machine cannot run the kernels of " << name);
  return *found;
}

/// The largest difference, relative to 1 + |expected|.
double difference(std::span<const float> found,
                  const reference::values& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double d = std::abs(static_cast<double>(found[i]) - expected[i])
               / (1 + std::abs(expected[i]));
    worst = d > worst || std::isnan(d) ? d : worst;
  }
  return worst;
}

struct packed {
  float_buffer data;
  packed_view view;
  int64_t panels;
};

packed packed_by(const cpu_kernels& cpu, const float_buffer& weight,
                 int64_t outputs, int64_t inputs) {
  packed out;
  out.panels = (outputs + cpu.panel_width - 1) / cpu.panel_width;
  out.data.resize(static_cast<size_t>(out.panels * cpu.panel_width * inputs));
  cpu.pack(weight.data(), outputs, inputs, out.data.data());
  out.view = {out.data.data(), outputs, inputs};
  return out;
}

} // namespace

TEST_CASE("linear agrees with the double reference", "[kernels][linear]") {
  auto& cpu = variant();
  auto rows = GENERATE(int64_t{1}, 5, 12, 13, 31);
  auto outputs = GENERATE(int64_t{1}, 32, 33, 95);
  auto inputs = GENERATE(int64_t{1}, 17, 128);
  CAPTURE(rows, outputs, inputs);
  auto x = random_values(static_cast<size_t>(rows * inputs), 1);
  auto w = random_values(static_cast<size_t>(outputs * inputs), 2);
  float_buffer y(static_cast<size_t>(rows * outputs), 1.0f);
  auto weight = packed_by(cpu, w, outputs, inputs);
  cpu.linear({x.data(), rows, inputs}, weight.view, {y.data(), rows, outputs},
             {0, weight.panels}, false);
  auto expected = reference::linear(x, w, inputs);
  CHECK_THAT(difference(y, expected), WithinAbs(0, 1e-5));
  cpu.linear({x.data(), rows, inputs}, weight.view, {y.data(), rows, outputs},
             {0, weight.panels}, true);
  for (auto& value : expected)
    value *= 2;
  CHECK_THAT(difference(y, expected), WithinAbs(0, 1e-5));
}

TEST_CASE("a row's product ignores the rows beside it", "[kernels][linear]") {
  auto& cpu = variant();
  constexpr int64_t rows = 29, outputs = 70, inputs = 131;
  auto x = random_values(rows * inputs, 3);
  auto weight = packed_by(cpu, random_values(outputs * inputs, 4), outputs,
                          inputs);
  float_buffer together(rows * outputs), alone(rows * outputs);
  cpu.linear({x.data(), rows, inputs}, weight.view,
             {together.data(), rows, outputs}, {0, weight.panels}, false);
  for (int64_t r = 0; r < rows; ++r)
    cpu.linear({x.data() + r * inputs, 1, inputs}, weight.view,
               {alone.data() + r * outputs, 1, outputs}, {0, weight.panels},
               false);
  CHECK(together == alone);
}

TEST_CASE("panels computed apart make the whole product", "[kernels][linear]") {
  auto& cpu = variant();
  constexpr int64_t rows = 7, outputs = 130, inputs = 40;
  auto x = random_values(rows * inputs, 5);
  auto weight = packed_by(cpu, random_values(outputs * inputs, 6), outputs,
                          inputs);
  float_buffer whole(rows * outputs), parts(rows * outputs);
  cpu.linear({x.data(), rows, inputs}, weight.view,
             {whole.data(), rows, outputs}, {0, weight.panels}, false);
  for (int64_t p = weight.panels; p-- > 0;)
    cpu.linear({x.data(), rows, inputs}, weight.view,
               {parts.data(), rows, outputs}, {p, p + 1}, false);
  CHECK(whole == parts);
}

TEST_CASE("the root mean square norm agrees with the reference",
          "[kernels][norm]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{1}, 15, 16, 33, 128, 1000);
  CAPTURE(size);
  auto x = random_values(static_cast<size_t>(3 * size), 7);
  auto w = random_values(static_cast<size_t>(size), 8);
  auto out = x;
  cpu.rms_norm({out.data(), 3, size}, w.data(), {out.data(), 3, size}, size,
               1e-6f);
  for (size_t r = 0; r < 3; ++r) {
    auto at = r * static_cast<size_t>(size);
    auto row = std::span{x}.subspan(at, static_cast<size_t>(size));
    CHECK_THAT(difference(std::span{out}.subspan(at, row.size()),
                          reference::rms_norm(row, w, 1e-6)),
               WithinAbs(0, 1e-5));
  }
}

TEST_CASE("norm and rotation of a head agree with reference",
          "[kernels][rotary]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{2}, 8, 32, 36, 128);
  CAPTURE(size);
  auto head = random_values(static_cast<size_t>(size), 9);
  auto w = random_values(static_cast<size_t>(size), 10);
  float_buffer cosines, sines;
  for (int64_t i = 0; i < size / 2; ++i) {
    cosines.push_back(std::cos(0.3f * static_cast<float>(i)));
    sines.push_back(std::sin(0.3f * static_cast<float>(i)));
  }
  auto expected = reference::norm_rotate(head, w, 1e-6, cosines, sines);
  cpu.norm_rotate(head.data(), w.data(), size, 1e-6f, cosines.data(),
                  sines.data());
  CHECK_THAT(difference(head, expected), WithinAbs(0, 1e-5));
}

TEST_CASE("attention over a cache agrees with the reference",
          "[kernels][attention]") {
  auto& cpu = variant();
  attention_shape shape{4, 2, GENERATE(int64_t{8}, 32, 40), 144};
  auto length = GENERATE(int64_t{1}, 15, 16, 17, 64, 65, 143, 144);
  CAPTURE(shape.head_dim, length);
  auto cache = static_cast<size_t>(shape.kv_heads * shape.head_dim
                                   * shape.capacity);
  auto width = static_cast<size_t>(shape.heads * shape.head_dim);
  auto query = random_values(width, 11, 3);
  auto keys = random_values(cache, 12), values = random_values(cache, 13);
  // What a slot's earlier user left behind must not be seen.
  for (int64_t h = 0; h < shape.kv_heads; ++h)
    for (int64_t t = length; t < shape.capacity; ++t)
      for (int64_t d = 0; d < shape.head_dim; ++d) {
        auto block = h * shape.capacity + t / key_block * key_block;
        keys[static_cast<size_t>(block * shape.head_dim + d * key_block
                                 + t % key_block)] = 1e30f;
      }
  float_buffer out(width), scratch(static_cast<size_t>(shape.capacity));
  attention_row row{query.data(), keys.data(), values.data(), out.data(),
                    length};
  cpu.attend(row, shape, scratch.data());
  CHECK_THAT(difference(out, reference::attend(row, shape)),
             WithinAbs(0, 1e-5));
}

TEST_CASE("the gated unit agrees with the reference", "[kernels][silu]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{1}, 16, 31, 384);
  CAPTURE(size);
  auto x = random_values(static_cast<size_t>(2 * size), 14, 30);
  float_buffer out(static_cast<size_t>(size));
  cpu.silu_multiply({x.data(), 1, 2 * size}, {out.data(), 1, size}, size);
  CHECK_THAT(difference(out, reference::silu_multiply(x)), WithinAbs(0, 1e-5));
}

TEST_CASE("softmax sums give exact enough log probabilities",
          "[kernels][softmax]") {
  auto& cpu = variant();
  auto size = GENERATE(int64_t{1}, 15, 512, 1025, 50000);
  auto scale = GENERATE(1.0f, 1 / 0.7f);
  CAPTURE(size, scale);
  auto x = random_values(static_cast<size_t>(size), 15, 8);
  float_buffer weights(x.size());
  auto sums = cpu.softmax_row(x.data(), scale, size, weights.data());
  auto expected = reference::log_softmax(x, static_cast<double>(scale));
  float_buffer found;
  double mass = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    found.push_back(x[i] * scale - sums.max
                    - static_cast<float>(std::log(sums.sum)));
    mass += static_cast<double>(weights[i]);
  }
  CHECK_THAT(difference(found, expected), WithinAbs(0, 2e-6));
  CHECK_THAT(mass / sums.sum, WithinAbs(1, 1e-5));
}
