#pragma once

#include "kernels/cpu_kernels.hpp"

#include <cstdint>

/// The gradients of `cpu_kernels` that training needs beside matrix products,
/// on one core. Everything is float32 and row-major; nothing aliases.
namespace swage::kernels {

/// Where the gradients of a normalisation go.
struct norm_gradient {
  rows_view input;         ///< Written.
  float* weight = nullptr; ///< Added to.
};

/// The positions of a head's rotation.
struct rotation {
  const float* cosines = nullptr; ///< size / 2
  const float* sines = nullptr;
};

/// One head of one row and its gradient.
struct head_gradient {
  const float* input = nullptr;     ///< As it was before norm and rotation.
  const float* output = nullptr;    ///< Gradient of the rotated head.
  float* input_gradient = nullptr;  ///< Written.
  float* weight_gradient = nullptr; ///< Added to.
};

struct training_kernels {
  /// Gradient of out = rms_norm(x, weight, eps): with r = 1 / sqrt(mean x^2 +
  /// eps) and g = grad * weight,
  ///   dx = r g - x r^3 / size * sum(g x),  dw += grad x r.
  void (*rms_norm)(rows_view x, const float* weight, rows_view grad,
                   norm_gradient out, float eps);

  /// Gradient of norm_rotate for one head of `size` elements.
  void (*norm_rotate)(head_gradient head, const float* weight, rotation angles,
                      int64_t size, float eps);

  /// Gradient of out = silu(x[:size]) * x[size:], written to `out`
  /// [rows, 2 * size].
  void (*silu_multiply)(rows_view x, rows_view grad, rows_view out,
                        int64_t size);
};

/// The best kernels that this machine can run.
const training_kernels& training();

/// As `cpu_variant`.
const training_kernels* training_variant(const char* name);

} // namespace swage::kernels
