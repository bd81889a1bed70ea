// Compiled once for each instruction set: see cpu_vector.hpp for what must not
// be used here.
#include "kernels/cpu_vector.hpp"
#include "kernels/training_kernels.hpp"

namespace swage::kernels {

namespace {

using namespace SWAGE_VARIANT;

void rms_norm(rows_view x, const float* weight, rows_view grad,
              norm_gradient out, float eps) {
  int64_t size = x.stride;
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* from = x.data + r * x.stride;
    const float* dy = grad.data + r * grad.stride;
    float* dx = out.input.data + r * out.input.stride;
    float mean = dot(from, from, size) / static_cast<float>(size);
    float scale = 1.0f / __builtin_sqrtf(mean + eps);
    float along = 0;
#pragma omp simd reduction(+ : along)
    for (int64_t i = 0; i < size; ++i)
      along += dy[i] * weight[i] * from[i];
    along *= scale * scale * scale / static_cast<float>(size);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      dx[i] = dy[i] * weight[i] * scale - from[i] * along;
      out.weight[i] += dy[i] * from[i] * scale;
    }
  }
}

void norm_rotate(head_gradient head, const float* weight, rotation angles,
                 int64_t size, float eps) {
  int64_t half = size / 2;
  float* back = head.input_gradient;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    float a = head.output[i], b = head.output[half + i];
    back[i] = a * angles.cosines[i] + b * angles.sines[i];
    back[half + i] = b * angles.cosines[i] - a * angles.sines[i];
  }
  const float* from = head.input;
  float mean = dot(from, from, size) / static_cast<float>(size);
  float scale = 1.0f / __builtin_sqrtf(mean + eps);
  float along = 0;
#pragma omp simd reduction(+ : along)
  for (int64_t i = 0; i < size; ++i)
    along += back[i] * weight[i] * from[i];
  along *= scale * scale * scale / static_cast<float>(size);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    head.weight_gradient[i] += back[i] * from[i] * scale;
    back[i] = back[i] * weight[i] * scale - from[i] * along;
  }
}

/// The gradients of silu(gate) * up: of `gate`, and of `up` in `up`'s place.
[[gnu::always_inline]] inline vec silu_gradient(vec gate, vec& up, vec grad) {
  vec open = 1.0f / (1.0f + fast_exp(-gate));
  vec along = grad * up * open * (1.0f + gate * (1.0f - open));
  up = grad * gate * open;
  return along;
}

void silu_multiply(rows_view x, rows_view grad, rows_view out, int64_t size) {
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* gate = x.data + r * x.stride;
    const float* dy = grad.data + r * grad.stride;
    float* to = out.data + r * out.stride;
    int64_t i = 0;
    for (; i + lanes <= size; i += lanes) {
      vec up = load(gate + size + i);
      store(to + i, silu_gradient(load(gate + i), up, load(dy + i)));
      store(to + size + i, up);
    }
    if (i == size)
      continue;
    int64_t rest = size - i;
    vec up = load_part(gate + size + i, rest, 0);
    vec along = silu_gradient(load_part(gate + i, rest, 0), up,
                              load_part(dy + i, rest, 0));
    store_part(to + i, along, rest);
    store_part(to + size + i, up, rest);
  }
}

} // namespace

extern const training_kernels SWAGE_JOIN(training_, SWAGE_VARIANT);
const training_kernels SWAGE_JOIN(training_, SWAGE_VARIANT) = {
  rms_norm, norm_rotate, silu_multiply};

} // namespace swage::kernels
