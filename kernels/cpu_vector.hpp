#pragma once

#include <float.h>

#include <cstdint>

// The instruction set that this translation unit is compiled for. Code that
// includes this header is compiled once for each and must not instantiate a
// shared inline function (no standard library): the linker would keep one copy
// of it for the whole program, and that copy could hold instructions that the
// machine lacks.
#ifndef SWAGE_VARIANT
#  define SWAGE_VARIANT generic
#endif
#define SWAGE_JOIN_(a, b) a##b
#define SWAGE_JOIN(a, b) SWAGE_JOIN_(a, b)
#define SWAGE_TEXT_(a) #a
#define SWAGE_TEXT(a) SWAGE_TEXT_(a)

/// Vectors of floats, as wide as the instruction set's registers.
namespace swage::kernels::SWAGE_VARIANT {

#if defined(__AVX512F__)
constexpr int64_t lanes = 16;
#elif defined(__AVX2__)
constexpr int64_t lanes = 8;
#else
constexpr int64_t lanes = 4;
#endif

typedef float vec __attribute__((vector_size(lanes * sizeof(float)),
                                 aligned(sizeof(float)), may_alias));
typedef int ivec __attribute__((vector_size(lanes * sizeof(int)),
                                aligned(sizeof(int)), may_alias));

[[gnu::always_inline]] inline vec load(const float* from) {
  return *reinterpret_cast<const vec*>(from);
}

[[gnu::always_inline]] inline void store(float* to, vec value) {
  *reinterpret_cast<vec*>(to) = value;
}

[[gnu::always_inline]] inline vec broadcast(float value) {
  return value - vec{};
}

[[gnu::always_inline]] inline float larger(float a, float b) {
  return a < b ? b : a;
}

/// exp to about 1 ulp. Below -87 it is 0 nearly enough (1.6e-38), above 88 it
/// stays finite.
[[gnu::always_inline]] inline vec fast_exp(vec x) {
  vec low = broadcast(-87.0f), high = broadcast(88.0f);
  x = x < low ? low : x;
  x = x > high ? high : x;
  // Adding 1.5 * 2^23 rounds to the nearest integer.
  vec n = x * 1.44269504f + 12582912.0f;
  n -= 12582912.0f;
  vec r = x - n * 0.693359375f;
  r -= n * -2.12194440e-4f;
  vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  ivec bits = (__builtin_convertvector(n, ivec) + 127) << 23;
  return p * reinterpret_cast<vec>(bits);
}

/// The first `count` < `lanes` elements; the others are `filler`.
[[gnu::always_inline]] inline vec load_part(const float* from, int64_t count,
                                            float filler) {
  vec out = broadcast(filler);
  for (int64_t i = 0; i < count; ++i)
    out[i] = from[i];
  return out;
}

[[gnu::always_inline]] inline void store_part(float* to, vec value,
                                              int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = value[i];
}

[[gnu::always_inline]] inline float sum_of(vec value) {
  float sum = 0;
  for (int64_t i = 0; i < lanes; ++i)
    sum += value[i];
  return sum;
}

/// out[i] = exp(x[i] * scale - max); returns their sum.
[[gnu::always_inline]] inline float
exponentials(const float* x, float scale, float max, int64_t size, float* out) {
  vec sum = {};
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    vec value = fast_exp(load(x + i) * scale - max);
    store(out + i, value);
    sum += value;
  }
  if (i < size) {
    vec value = fast_exp(load_part(x + i, size - i, 0) * scale - max);
    store_part(out + i, value, size - i);
    for (int64_t j = 0; j < size - i; ++j)
      sum[j] += value[j];
  }
  return sum_of(sum);
}

/// max_i x[i] * scale
[[gnu::always_inline]] inline float maximum(const float* x, float scale,
                                            int64_t size) {
  float max = -FLT_MAX;
#pragma omp simd reduction(max : max)
  for (int64_t i = 0; i < size; ++i)
    max = larger(max, x[i] * scale);
  return max;
}

/// sum_i a[i] * b[i]
[[gnu::always_inline]] inline float dot(const float* a, const float* b,
                                        int64_t size) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace swage::kernels::SWAGE_VARIANT
