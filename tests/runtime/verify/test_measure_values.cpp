#include "runtime/verify/measure_values.hpp"

#include "runtime/verify/compare.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using namespace swage;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span{values});
}

template <class T>
std::vector<T> varied(const std::vector<T>& from, dtype type, uint64_t seed) {
  std::vector<T> out(from.size());
  vary(bytes_of(from), std::as_writable_bytes(std::span{out}), type, seed);
  return out;
}

template <class T>
value_habit habit(dtype type, const std::vector<T>& values) {
  auto draw = bytes_of(values);
  return habit_of(type, {&draw, 1});
}

/// Different numbers between 0 and 1.
std::vector<float> different(size_t count) {
  std::vector<float> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(
      std::fmod(static_cast<float>(i + 1) * 0.618034f, 1.0f) + 1e-4f);
  return out;
}

} // namespace

TEST_CASE("a number varies by an eighth at most", "[verify][measure]") {
  for (auto start : {1.0, 0.999, -3.0, 1e-30, 1e30, 1e-3}) {
    CAPTURE(start);
    std::vector<float> single(100, static_cast<float>(start));
    std::vector<double> wide(100, start);
    double most = 0;
    for (auto x : varied(single, dtype::float32, 3))
      most = std::max(most, std::fabs(x / single[0] - 1.0));
    CHECK(most <= 0.125);
    CHECK(most > 0.03);
    for (auto x : varied(wide, dtype::float64, 3))
      CHECK(std::fabs(x / start - 1) <= 0.125);
  }
  std::vector<uint16_t> halves(100, 0xbc00), small(100, 0x3f80);
  for (auto x : varied(halves, dtype::float16, 3))
    CHECK(std::fabs(half_to_float(x) + 1) <= 0.125f);
  for (auto x : varied(small, dtype::bfloat16, 3))
    CHECK(std::fabs(bfloat16_to_float(x) - 1) <= 0.125f);
}

TEST_CASE("what is no usual number does not vary", "[verify][measure]") {
  using limits = std::numeric_limits<float>;
  std::vector<float> odd{0.0f,
                         -0.0f,
                         limits::infinity(),
                         -limits::infinity(),
                         limits::denorm_min(),
                         limits::max(),
                         limits::quiet_NaN()};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto now = varied(odd, dtype::float32, seed);
    CHECK(std::memcmp(now.data(), odd.data(), odd.size() * sizeof(float)) == 0);
  }
  std::vector<int64_t> whole{1, -5, int64_t{1} << 60};
  CHECK(varied(whole, dtype::int64, 3) == whole);
}

TEST_CASE("a variation hangs on its seed alone", "[verify][measure]") {
  auto values = different(1001);
  CHECK(varied(values, dtype::float32, 3) == varied(values, dtype::float32, 3));
  auto a = varied(values, dtype::float32, 3),
       b = varied(values, dtype::float32, 4);
  size_t same = 0;
  for (size_t i = 0; i < a.size(); ++i)
    same += a[i] == b[i] ? 1 : 0;
  CHECK(same < 5);
}

TEST_CASE("inputs of many values are told from those of few",
          "[verify][measure]") {
  auto many = different(5000);
  CHECK(habit(dtype::float32, many).many);
  CHECK(habit(dtype::float64, std::vector<double>{many.begin(), many.end()}).many);
  CHECK_FALSE(habit(dtype::float16, std::vector<uint16_t>(100, 1)).many);
  CHECK_FALSE(habit(dtype::int32, std::vector<int32_t>{1, 2, 3}).many);
  CHECK_FALSE(habit(dtype::float32, std::vector<float>{}).many);
  std::vector<float> whole, digits, mostly_zero = many;
  for (size_t i = 0; i < 5000; ++i) {
    whole.push_back(static_cast<float>(i * 7));
    digits.push_back(static_cast<float>(i % 100) / 100);
    if (i % 4 != 0)
      mostly_zero[i] = 0;
  }
  CHECK_FALSE(habit(dtype::float32, whole).many);
  CHECK_FALSE(habit(dtype::float32, digits).many);
  auto found = habit(dtype::float32, mostly_zero);
  CHECK(found.many);
  CHECK(found.often[0] == 0);
  CHECK(std::isnan(found.often[1]));
}

TEST_CASE("a few elements are scattered, and one at least",
          "[verify][measure]") {
  secret_seeds seeds{5};
  for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{17}, size_t{100},
                       size_t{100'000}}) {
    CAPTURE(count);
    std::vector<float> ones(count, 1);
    std::vector<char> anywhere(count);
    for (int round = 0; round < 50; ++round) {
      std::vector<float> to(count);
      scatter(bytes_of(ones), std::as_writable_bytes(std::span{to}),
              sizeof(float), seeds);
      auto found = static_cast<size_t>(std::ranges::count(to, 1.0f));
      CHECK(found >= std::min<size_t>(count, 1));
      CHECK(found <= std::max<size_t>(count / 2 + 8, 1));
      CHECK(found < 120);
      for (size_t i = 0; i < count; ++i)
        anywhere[i] |= to[i] == 1 ? 1 : 0;
    }
    if (count < 1000)
      CHECK(std::ranges::count(anywhere, 1)
            == static_cast<std::ptrdiff_t>(count));
  }
}
