#include "runtime/verify/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace swage {

namespace {

constexpr size_t chunk = 4096;

struct half {
  uint16_t bits;
};

struct bfloat {
  uint16_t bits;
};

double widen(half value) {
  return half_to_float(value.bits);
}

double widen(bfloat value) {
  return bfloat16_to_float(value.bits);
}

template <class T>
double widen(T value) {
  return static_cast<double>(value);
}

template <class T>
constexpr bool is_exact = std::is_integral_v<T>;

/// Up to `chunk` elements of a tensor from `first` on. Copied, because memory
/// that others may write must be read once.
template <class T>
std::span<const T> read(std::span<const std::byte> from, size_t first,
                        std::array<T, chunk>& to) {
  auto count = std::min(chunk, from.size() / sizeof(T) - first);
  std::memcpy(to.data(), from.data() + first * sizeof(T), count * sizeof(T));
  return {to.data(), count};
}

/// Root mean square of the finite elements.
template <class T>
double rms(std::span<const std::byte> expected) {
  std::array<T, chunk> buffer;
  auto total = expected.size() / sizeof(T);
  double sum = 0;
  for (size_t first = 0; first < total; first += chunk) {
    double part = 0;
    for (auto value : read<T>(expected, first, buffer)) {
      auto x = widen(value);
      part += std::isfinite(x) ? x * x : 0.0;
    }
    sum += part;
  }
  return total == 0 ? 0 : std::sqrt(sum / static_cast<double>(total));
}

template <class T>
struct judged_chunk {
  std::span<const T> got;
  std::span<const T> expected;
  double absolute = 0; ///< Scaled already.
  double relative = 0;

  double allowed(size_t i) const {
    return absolute + relative * std::abs(widen(expected[i]));
  }

  double gap(size_t i) const {
    return std::abs(widen(got[i]) - widen(expected[i]));
  }

  bool wrong(size_t i) const {
    if constexpr (is_exact<T>)
      return got[i] != expected[i];
    else
      return !(gap(i) <= allowed(i));
  }

  uint64_t count_wrong() const {
    uint64_t n = 0;
    for (size_t i = 0; i < got.size(); ++i)
      n += wrong(i) ? 1 : 0;
    return n;
  }

  /// How far off an element is; what is no number is furthest.
  double excess(size_t i) const {
    auto far = is_exact<T> ? gap(i) : gap(i) / allowed(i);
    return std::isnan(far) ? std::numeric_limits<double>::infinity() : far;
  }
};

template <class T>
bool is_poison(T value, std::byte poison) {
  std::array<std::byte, sizeof(T)> pattern;
  pattern.fill(poison);
  return std::memcmp(&value, pattern.data(), sizeof(T)) == 0;
}

/// Looks closely at a chunk with wrong elements.
template <class T>
void inspect_chunk(const judged_chunk<T>& part, uint64_t first,
                   std::byte poison, comparison& out, double& furthest) {
  for (size_t i = 0; i < part.got.size(); ++i) {
    if (!part.wrong(i))
      continue;
    ++out.wrong;
    if (is_poison(part.got[i], poison))
      ++out.unwritten;
    else if (!std::isfinite(widen(part.got[i])))
      ++out.nonfinite;
    if (auto far = part.excess(i); far > furthest) {
      furthest = far;
      out.worst = first + i;
      out.got = widen(part.got[i]);
      out.expected = widen(part.expected[i]);
    }
  }
}

template <class T>
bool all_finite(std::span<const T> values) {
  bool finite = true;
  for (auto value : values)
    finite &= std::isfinite(widen(value));
  return finite;
}

template <class T>
comparison compare_as(std::span<const std::byte> got,
                      std::span<const std::byte> expected,
                      const tolerance& allowed, std::byte poison) {
  std::array<T, chunk> left, right;
  comparison out;
  out.elements = expected.size() / sizeof(T);
  double scale = 0;
  if constexpr (!is_exact<T>)
    scale = std::max(std::min(rms<T>(expected), allowed.max_scale),
                     min_tolerance_scale);
  double furthest = -1;
  for (size_t first = 0; first < out.elements; first += chunk) {
    judged_chunk<T> part{read<T>(got, first, left),
                         read<T>(expected, first, right),
                         allowed.absolute * scale, allowed.relative};
    out.expected_finite &= all_finite(part.expected);
    if (part.count_wrong() > 0)
      inspect_chunk(part, first, poison, out, furthest);
  }
  return out;
}

} // namespace

tolerance tolerance_of(dtype type, const eval_spec& eval) {
  double by_type = 0;
  switch (type) {
    case dtype::float32: by_type = 1e-4; break;
    case dtype::float64: by_type = 1e-7; break;
    case dtype::float16:
    case dtype::bfloat16: by_type = 1e-2; break;
    default: return {0, 0, 1};
  }
  // NaN counts as not given too.
  return {eval.rtol >= 0 ? eval.rtol : by_type,
          eval.atol >= 0 ? eval.atol : by_type, 1};
}

double comparison::wrong_share() const {
  return elements == 0
           ? 0
           : static_cast<double>(wrong) / static_cast<double>(elements);
}

comparison compare(const tensor_spec& what, std::span<const std::byte> got,
                   std::span<const std::byte> expected,
                   const tolerance& allowed, std::byte poison) {
  auto as = [&]<class T>(T) {
    return compare_as<T>(got, expected, allowed, poison);
  };
  switch (what.type) {
    case dtype::float32: return as(float{});
    case dtype::float64: return as(double{});
    case dtype::float16: return as(half{});
    case dtype::bfloat16: return as(bfloat{});
    case dtype::int64: return as(int64_t{});
    case dtype::int32: return as(int32_t{});
    case dtype::int16: return as(int16_t{});
    case dtype::int8: return as(int8_t{});
    case dtype::uint8:
    case dtype::boolean: return as(uint8_t{});
  }
  return {};
}

double information(dtype type, std::span<const std::byte> result) {
  constexpr size_t most = 4096;
  auto size = size_of(type), count = result.size() / size;
  auto step = std::max<size_t>(1, count / most);
  std::vector<uint64_t> values;
  for (size_t i = 0; i < count; i += step)
    std::memcpy(&values.emplace_back(0), result.data() + i * size, size);
  std::ranges::sort(values);
  auto total = static_cast<double>(values.size());
  double bits = 0;
  for (auto i = values.begin(); i != values.end();) {
    auto next = std::upper_bound(i, values.end(), *i);
    auto times = static_cast<double>(next - i);
    bits += times * std::log2(total / times);
    i = next;
  }
  return bits;
}

bool is_distinctive(std::span<const tensor_spec> outputs,
                    std::span<const std::vector<std::byte>> results) {
  constexpr double enough = 64;
  double bits = 0;
  for (size_t i = 0; i < results.size(); ++i)
    bits += information(outputs[i].type, results[i]);
  return bits >= enough;
}

std::string index_text(const tensor_spec& what, uint64_t flat) {
  std::string text;
  for (size_t i = what.shape.size(); i-- > 0;) {
    auto size = static_cast<uint64_t>(std::max<int64_t>(what.shape[i], 1));
    text = fmt::format("{}{}{}", flat % size, text.empty() ? "" : ", ", text);
    flat /= size;
  }
  return "[" + text + "]";
}

float half_to_float(uint16_t bits) {
  auto sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    // Zero and the subnormals are multiples of 2^-24.
    auto value = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  auto wide = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

} // namespace swage
