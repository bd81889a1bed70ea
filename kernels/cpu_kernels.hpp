#pragma once

#include <cstdint>

/// What decoding computes, on one core of a CPU. Everything is float32,
/// row-major and, unless a comment says otherwise, must not alias. A row's
/// result depends on that row alone, bit for bit, not on how many rows are
/// computed together: that is what makes a sequence's log-probabilities
/// independent of the batch that it is decoded in.
namespace swage::kernels {

/// A weight matrix [outputs, inputs], packed by `pack`.
struct packed_view {
  const float* data = nullptr;
  int64_t outputs = 0;
  int64_t inputs = 0;
};

/// `rows` rows that lie `stride` elements apart.
struct rows_view {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;
};

/// Which output panels `linear` computes: panel p holds the outputs
/// [p * panel_width, (p + 1) * panel_width).
struct panel_range {
  int64_t begin = 0;
  int64_t end = 0;
};

/// One query row against one slot of a key-value cache.
struct attention_row {
  const float* query = nullptr; ///< [heads, head_dim]
  /// [kv_heads, capacity / 16, head_dim, 16]: blocks of 16 positions, so that
  /// scoring reads memory in order and adds no lanes up.
  const float* keys = nullptr;
  const float* values = nullptr; ///< [kv_heads, capacity, head_dim]
  float* out = nullptr;          ///< [heads, head_dim]
  int64_t length = 0;            ///< Positions 0 .. length - 1 are attended.
};

/// Positions in one block of keys.
inline constexpr int64_t key_block = 16;

struct attention_shape {
  int64_t heads = 0;
  int64_t kv_heads = 0; ///< Divides `heads`; neighbours share one.
  int64_t head_dim = 0;
  int64_t capacity = 0; ///< Positions of a slot, a multiple of `key_block`.
};

/// exp(x_i * scale - max) and their sum, as `softmax_row` leaves them.
struct softmax_sums {
  float max = 0; ///< Of x_i * scale.
  double sum = 0;
};

/// The kernels of one instruction set.
struct cpu_kernels {
  const char* name;
  int64_t panel_width; ///< Outputs computed side by side.

  /// Packs `weight` [outputs, inputs] into `out`, whose size is
  /// `packed_size(outputs, inputs)`: panels of [inputs, panel_width], the last
  /// one filled up with zeros.
  void (*pack)(const float* weight, int64_t outputs, int64_t inputs,
               float* out);

  /// y[r, o] = sum_i x[r, i] * w[o, i] for the outputs of `panels`.
  /// With `add`, y[r, o] += the sum. `x.rows` rows; strides are free.
  void (*linear)(rows_view x, packed_view w, rows_view y, panel_range panels,
                 bool add);

  /// out[r, i] = w[i] * x[r, i] / sqrt(mean_i x[r, i]^2 + eps), i < size.
  /// `out` may be `x`.
  void (*rms_norm)(rows_view x, const float* weight, rows_view out,
                   int64_t size, float eps);

  /// RMS norm of one head in place, then rotary embedding of its halves:
  ///   (a, b) -> (a cos - b sin, b cos + a sin).
  /// `cosines` and `sines` hold size / 2 values of the row's position.
  void (*norm_rotate)(float* head, const float* weight, int64_t size, float eps,
                      const float* cosines, const float* sines);

  /// out = softmax(q k^T / sqrt(head_dim)) v for one row and all its heads.
  /// `scratch` holds `capacity` floats.
  void (*attend)(const attention_row& row, const attention_shape& shape,
                 float* scratch);

  /// out[r, i] = silu(x[r, i]) * x[r, size + i], i < size; silu(a) =
  /// a / (1 + exp(-a)).
  void (*silu_multiply)(rows_view x, rows_view out, int64_t size);

  /// out[i] = exp(x[i] * scale - max_j(x[j] * scale)), i < size, and the sums.
  /// `out` may be `x`.
  softmax_sums (*softmax_row)(const float* x, float scale, int64_t size,
                              float* out);
};

/// The best kernels that this machine can run.
const cpu_kernels& cpu();

/// The kernels named "generic", "x86_64_v3" or "x86_64_v4", or null where
/// they were not built or this machine cannot run them.
const cpu_kernels* cpu_variant(const char* name);

/// Floats that a packed matrix takes.
int64_t packed_size(int64_t outputs, int64_t inputs);

/// Number of panels of a packed matrix.
int64_t panel_count(int64_t outputs);

} // namespace swage::kernels
