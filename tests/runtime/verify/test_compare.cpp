#include "runtime/verify/compare.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace {

using namespace swage;

template <class T>
std::vector<std::byte> bytes(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  if (!out.empty())
    std::memcpy(out.data(), values.data(), out.size());
  return out;
}

tensor_spec floats(size_t n) {
  return {"out", dtype::float32, {static_cast<int64_t>(n)}, {}};
}

comparison compared(const std::vector<float>& got,
                    const std::vector<float>& expected) {
  return compare(floats(got.size()), bytes(got), bytes(expected),
                 tolerance_of(dtype::float32, {}));
}

template <class T>
comparison compared_as(dtype type, T got, T expected) {
  tensor_spec spec{"out", type, {}, {}};
  return compare(spec, bytes(std::vector{got}), bytes(std::vector{expected}),
                 tolerance_of(type, {}));
}

constexpr auto not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr auto infinite = std::numeric_limits<float>::infinity();
const float poison = std::bit_cast<float>(0xffffffffu);

/// The rule as its header states it, element by element.
uint64_t wrong_by_definition(const std::vector<float>& got,
                             const std::vector<float>& expected) {
  double sum = 0;
  for (auto x : expected)
    sum += static_cast<double>(x) * x;
  auto scale = std::sqrt(sum / static_cast<double>(expected.size()));
  scale = std::max(std::min(scale, 1.0), 1e-4);
  uint64_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    auto allowed = 1e-4 * scale + 1e-4 * std::abs(double{expected[i]});
    wrong += !(std::abs(double{got[i]} - expected[i]) <= allowed);
  }
  return wrong;
}

} // namespace

TEST_CASE("equal tensors pass whatever their size", "[verify][compare]") {
  auto n = GENERATE(size_t{1}, 2, 4095, 4096, 4097, 10'000);
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<float>(i) * 0.5f - 7;
  auto found = compared(values, values);
  CHECK(found.pass());
  CHECK(found.elements == n);
}

TEST_CASE("one wrong element is found wherever it is", "[verify][compare]") {
  auto n = GENERATE(size_t{1}, 4096, 4097, 9000);
  auto at = GENERATE_COPY(size_t{0}, n / 2, n - 1);
  std::vector<float> expected(n, 1.0f);
  auto got = expected;
  got[at] = 1.001f;
  auto found = compared(got, expected);
  CHECK(found.wrong == 1);
  CHECK(found.worst == at);
  CHECK(found.got == got[at]);
  CHECK(found.expected == 1.0);
}

TEST_CASE("what is not a number never passes", "[verify][compare]") {
  auto bad = GENERATE(not_a_number, infinite, -infinite);
  auto found = compared({1, bad, 3}, {1, 2, 3});
  CHECK(found.wrong == 1);
  CHECK(found.nonfinite == 1);
  CHECK(found.worst == 1);
}

TEST_CASE("an expected value that is no number is reported",
          "[verify][compare]") {
  auto bad = GENERATE(not_a_number, infinite);
  auto found = compared({1, bad}, {1, bad});
  CHECK_FALSE(found.expected_finite);
  CHECK_FALSE(found.pass());
}

TEST_CASE("elements that were never written are counted", "[verify][compare]") {
  auto found = compared({poison, poison, 3}, {1, 2, 3});
  CHECK(found.wrong == 2);
  CHECK(found.unwritten == 2);
  CHECK(found.nonfinite == 0);
}

TEST_CASE("zeros do not pass for tiny expected values", "[verify][compare]") {
  // A softmax over 4096 columns: each value is far below a fixed tolerance.
  std::vector<float> expected(4096, 1.0f / 4096);
  auto found = compared(std::vector<float>(4096, 0.0f), expected);
  CHECK(found.wrong == 4096);
}

TEST_CASE("rounding noise around zero passes", "[verify][compare]") {
  // Ordinary size, with elements that cancel.
  CHECK(compared({1.0f, 3e-6f}, {1.0f, 0.0f}).pass());
  CHECK(compared({1e-9f, -2e-9f}, {0.0f, 0.0f}).pass());
}

TEST_CASE("large terms allow errors of their size only when asked",
          "[verify][compare]") {
  std::vector<float> expected{1000, 0}, got{1000, 0.01f};
  auto allowed = tolerance_of(dtype::float32, {});
  CHECK_FALSE(compare(floats(2), bytes(got), bytes(expected), allowed).pass());
  allowed.max_scale = std::numeric_limits<double>::infinity();
  CHECK(compare(floats(2), bytes(got), bytes(expected), allowed).pass());
}

TEST_CASE("integers and booleans are compared exactly", "[verify][compare]") {
  constexpr int64_t large = int64_t{1} << 60;
  CHECK(compared_as<int64_t>(dtype::int64, large, large).pass());
  CHECK_FALSE(compared_as<int64_t>(dtype::int64, large + 1, large).pass());
  CHECK_FALSE(compared_as<int32_t>(dtype::int32, -1, 1).pass());
  CHECK_FALSE(compared_as<uint8_t>(dtype::boolean, 2, 1).pass());
  CHECK(compared_as<uint8_t>(dtype::boolean, 1, 1).pass());
  CHECK(compared_as<int8_t>(dtype::int8, -5, -5).pass());
  CHECK_FALSE(compared_as<int16_t>(dtype::int16, 7, 8).pass());
}

TEST_CASE("half types are compared with their own tolerance",
          "[verify][compare]") {
  // 1.0 and 1.0078125 in bfloat16, 1.0 and 1.0625 in binary16.
  CHECK(compared_as<uint16_t>(dtype::bfloat16, 0x3f81, 0x3f80).pass());
  CHECK_FALSE(compared_as<uint16_t>(dtype::float16, 0x3c40, 0x3c00).pass());
  CHECK_FALSE(compared_as<uint16_t>(dtype::float16, 0xffff, 0x3c00).pass());
}

TEST_CASE("double precision is held to more digits", "[verify][compare]") {
  CHECK_FALSE(compared_as<double>(dtype::float64, 1.00001, 1.0).pass());
  CHECK(compared_as<double>(dtype::float64, 1.00000001, 1.0).pass());
}

TEST_CASE("a task's own tolerance replaces the type's", "[verify][compare]") {
  eval_spec eval;
  eval.rtol = 0.5;
  eval.atol = 0;
  auto allowed = tolerance_of(dtype::float32, eval);
  CHECK(compare(floats(1), bytes<float>({1.4f}), bytes<float>({1.0f}), allowed)
          .pass());
  CHECK(tolerance_of(dtype::int64, eval).relative == 0);
}

TEST_CASE("an index is told dimension by dimension", "[verify][compare]") {
  tensor_spec spec{"out", dtype::float32, {2, 3, 4}, {}};
  CHECK(index_text(spec, 0) == "[0, 0, 0]");
  CHECK(index_text(spec, 23) == "[1, 2, 3]");
  CHECK(index_text(spec, 17) == "[1, 1, 1]");
  CHECK(index_text({"out", dtype::float32, {}, {}}, 0) == "[]");
}

TEST_CASE("a result's information grows with its values",
          "[verify][compare]") {
  auto bits = [](const std::vector<float>& values) {
    return information(dtype::float32, std::as_bytes(std::span{values}));
  };
  CHECK(bits({}) == 0);
  CHECK(bits({3}) == 0);
  CHECK(bits(std::vector<float>(100'000, 2.f)) == 0);
  CHECK(bits({1, 2, 1, 2}) == 4);
  CHECK(bits({1, 2, 3, 4}) == 8);
  std::vector<float> many(50'000);
  std::iota(many.begin(), many.end(), 0.f);
  CHECK(bits(many) > 10'000);
}

TEST_CASE("every half converts as the compiler does", "[verify][compare]") {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    auto want = static_cast<float>(std::bit_cast<_Float16>(half));
    auto got = half_to_float(half);
    if (std::isnan(want) ? !std::isnan(got)
                         : std::bit_cast<uint32_t>(got)
                             != std::bit_cast<uint32_t>(want))
      FAIL("differs for the bits " << bits);
  }
  CHECK(bfloat16_to_float(0x3fc0) == 1.5f);
  CHECK(std::isnan(bfloat16_to_float(0xffff)));
}

TEST_CASE("the count agrees with the definition", "[verify][compare]") {
  CHECK(rc::check("count of wrong elements", [] {
    auto n = *rc::gen::inRange<size_t>(1, 9000);
    auto scale = *rc::gen::element(1e-7f, 1e-3f, 1.0f, 1e4f);
    auto noise = *rc::gen::element(0.0f, 5e-5f, 1e-4f, 1e-3f);
    auto seed = *rc::gen::arbitrary<uint32_t>();
    std::vector<float> expected(n), got(n);
    for (size_t i = 0; i < n; ++i) {
      seed = seed * 1664525u + 1013904223u;
      auto x = static_cast<float>(seed >> 8) / float{1 << 24} - 0.5f;
      expected[i] = x * scale;
      seed = seed * 1664525u + 1013904223u;
      auto y = static_cast<float>(seed >> 8) / float{1 << 24} - 0.5f;
      got[i] = expected[i] + y * noise * scale;
    }
    RC_ASSERT(compared(got, expected).wrong
              == wrong_by_definition(got, expected));
  }));
}
