// Compiled once for each instruction set: see cpu_vector.hpp for what must not
// be used here.
#include "kernels/cpu_kernels.hpp"
#include "kernels/cpu_vector.hpp"

namespace swage::kernels {

namespace {

using namespace SWAGE_VARIANT;

// A tile is `tile_rows` x 2 vectors of sums, which together with the two
// weights and one input fill the register file.
constexpr int64_t tile_rows = lanes == 16 ? 12 : 6;
constexpr int64_t width = 2 * lanes;

void pack(const float* weight, int64_t outputs, int64_t inputs, float* out) {
  for (int64_t first = 0; first < outputs; first += width)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t o = first; o < first + width; ++o)
        *out++ = o < outputs ? weight[o * inputs + i] : 0.0f;
}

/// Adds one tile's sums to the outputs, of which `columns` exist.
[[gnu::always_inline]] inline void put(float* y, vec low, vec high,
                                       int64_t columns) {
  if (columns >= width) {
    store(y, low);
    store(y + lanes, high);
    return;
  }
  for (int64_t i = 0; i < columns; ++i)
    y[i] = i < lanes ? low[i] : high[i - lanes];
}

[[gnu::always_inline]] inline void fetch(const float* y, vec& low, vec& high,
                                         int64_t columns) {
  if (columns >= width) {
    low = load(y);
    high = load(y + lanes);
    return;
  }
  low = high = vec{};
  for (int64_t i = 0; i < columns; ++i)
    (i < lanes ? low[i] : high[i - lanes]) = y[i];
}

/// One tile: `Rows` rows of x against one panel. Each output is summed over
/// the inputs in order, whatever `Rows` is.
template <int64_t Rows>
void tile(const float* x, int64_t x_stride, const float* panel, int64_t inputs,
          rows_view y, int64_t columns, bool add) {
  vec low[Rows] = {}, high[Rows] = {};
  for (int64_t i = 0; i < inputs; ++i) {
    vec w0 = load(panel), w1 = load(panel + lanes);
    panel += width;
#pragma GCC unroll 12
    for (int64_t r = 0; r < Rows; ++r) {
      vec value = broadcast(x[r * x_stride + i]);
      low[r] += value * w0;
      high[r] += value * w1;
    }
  }
#pragma GCC unroll 12
  for (int64_t r = 0; r < Rows; ++r) {
    float* out = y.data + r * y.stride;
    if (add) {
      vec old_low, old_high;
      fetch(out, old_low, old_high, columns);
      low[r] += old_low;
      high[r] += old_high;
    }
    put(out, low[r], high[r], columns);
  }
}

using tile_function = void (*)(const float*, int64_t, const float*, int64_t,
                               rows_view, int64_t, bool);

constexpr tile_function tiles[] = {
  nullptr, tile<1>, tile<2>, tile<3>,  tile<4>,  tile<5>, tile<6>,
#if defined(__AVX512F__)
  tile<7>, tile<8>, tile<9>, tile<10>, tile<11>, tile<12>
#endif
};

void linear(rows_view x, packed_view w, rows_view y, panel_range panels,
            bool add) {
  // The panel outermost: it stays in the first-level cache for all rows.
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    const float* panel = w.data + p * width * w.inputs;
    int64_t columns = w.outputs - p * width;
    for (int64_t r = 0; r < x.rows; r += tile_rows) {
      int64_t rows = x.rows - r < tile_rows ? x.rows - r : tile_rows;
      rows_view out{y.data + r * y.stride + p * width, rows, y.stride};
      tiles[rows](x.data + r * x.stride, x.stride, panel, w.inputs, out,
                  columns, add);
    }
  }
}

void rms_norm(rows_view x, const float* weight, rows_view out, int64_t size,
              float eps) {
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* from = x.data + r * x.stride;
    float* to = out.data + r * out.stride;
    float mean = dot(from, from, size) / static_cast<float>(size);
    float scale = 1.0f / __builtin_sqrtf(mean + eps);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i)
      to[i] = from[i] * scale * weight[i];
  }
}

void norm_rotate(float* head, const float* weight, int64_t size, float eps,
                 const float* cosines, const float* sines) {
  float mean = dot(head, head, size) / static_cast<float>(size);
  float scale = 1.0f / __builtin_sqrtf(mean + eps);
  int64_t half = size / 2;
  float* second = head + half;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    float a = head[i] * scale * weight[i];
    float b = second[i] * scale * weight[half + i];
    head[i] = a * cosines[i] - b * sines[i];
    second[i] = b * cosines[i] + a * sines[i];
  }
}

/// Scores of `Blocks` blocks of keys. Each score is summed over the head's
/// dimensions in order, whatever `Blocks` is.
template <int64_t Blocks>
[[gnu::always_inline]] inline void
score_blocks(const float* query, const float* keys, int64_t head_dim,
             float* scores) {
  constexpr int64_t parts = key_block / lanes;
  vec sums[Blocks * parts] = {};
  for (int64_t d = 0; d < head_dim; ++d) {
    vec q = broadcast(query[d]);
#pragma GCC unroll 16
    for (int64_t i = 0; i < Blocks * parts; ++i)
      sums[i] += q
                 * load(keys + (i / parts * head_dim + d) * key_block
                        + i % parts * lanes);
  }
  float scale = 1.0f / __builtin_sqrtf(static_cast<float>(head_dim));
#pragma GCC unroll 16
  for (int64_t i = 0; i < Blocks * parts; ++i)
    store(scores + i * lanes, sums[i] * scale);
}

/// scores[t] = q . k[t] / sqrt(head_dim) for t < length; the rest of the last
/// block is left undefined.
[[gnu::always_inline]] inline void score_keys(const float* query,
                                              const float* keys,
                                              int64_t head_dim, int64_t length,
                                              float* scores) {
  constexpr int64_t together = lanes / 4;
  int64_t t = 0;
  for (; t + together * key_block <= length; t += together * key_block)
    score_blocks<together>(query, keys + t * head_dim, head_dim, scores + t);
  for (; t < length; t += key_block)
    score_blocks<1>(query, keys + t * head_dim, head_dim, scores + t);
}

/// out[d] = factor * sum_t weights[t] * values[t, d] for `Parts` vectors of
/// dimensions. Several sums side by side hide the latency of adding.
template <int64_t Parts>
[[gnu::always_inline]] inline void
mix_part(const float* weights, const float* values, int64_t length,
         int64_t head_dim, float factor, float* out) {
  vec sums[4][Parts] = {};
  int64_t t = 0;
  for (; t + 4 <= length; t += 4)
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int64_t p = 0; p < Parts; ++p)
        sums[i][p] += weights[t + i]
                      * load(values + (t + i) * head_dim + p * lanes);
  for (; t < length; ++t)
#pragma GCC unroll 4
    for (int64_t p = 0; p < Parts; ++p)
      sums[0][p] += weights[t] * load(values + t * head_dim + p * lanes);
#pragma GCC unroll 4
  for (int64_t p = 0; p < Parts; ++p)
    store(out + p * lanes,
          ((sums[0][p] + sums[1][p]) + (sums[2][p] + sums[3][p])) * factor);
}

/// out[d] = factor * sum_t weights[t] * values[t, d]
[[gnu::always_inline]] inline void mix_values(const float* weights,
                                              const float* values,
                                              int64_t length, int64_t head_dim,
                                              float factor, float* out) {
  int64_t d = 0;
  for (; d + 2 * lanes <= head_dim; d += 2 * lanes)
    mix_part<2>(weights, values + d, length, head_dim, factor, out + d);
  for (; d + lanes <= head_dim; d += lanes)
    mix_part<1>(weights, values + d, length, head_dim, factor, out + d);
  for (; d < head_dim; ++d) {
    float sum = 0;
    for (int64_t t = 0; t < length; ++t)
      sum += weights[t] * values[t * head_dim + d];
    out[d] = sum * factor;
  }
}

void attend(const attention_row& row, const attention_shape& shape,
            float* scratch) {
  int64_t sharing = shape.heads / shape.kv_heads;
  int64_t slot = shape.head_dim * shape.capacity;
  for (int64_t h = 0; h < shape.heads; ++h) {
    const float* keys = row.keys + h / sharing * slot;
    const float* values = row.values + h / sharing * slot;
    score_keys(row.query + h * shape.head_dim, keys, shape.head_dim, row.length,
               scratch);
    float max = maximum(scratch, 1.0f, row.length);
    float sum = exponentials(scratch, 1.0f, max, row.length, scratch);
    mix_values(scratch, values, row.length, shape.head_dim, 1.0f / sum,
               row.out + h * shape.head_dim);
  }
}

[[gnu::always_inline]] inline vec silu(vec x) {
  return x / (1.0f + fast_exp(-x));
}

void silu_multiply(rows_view x, rows_view out, int64_t size) {
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* gate = x.data + r * x.stride;
    const float* up = gate + size;
    float* to = out.data + r * out.stride;
    int64_t i = 0;
    for (; i + lanes <= size; i += lanes)
      store(to + i, silu(load(gate + i)) * load(up + i));
    if (i < size)
      store_part(to + i,
                 silu(load_part(gate + i, size - i, 0))
                   * load_part(up + i, size - i, 0),
                 size - i);
  }
}

softmax_sums softmax_row(const float* x, float scale, int64_t size,
                         float* out) {
  float max = maximum(x, scale, size);
  double total = 0;
  // In blocks: a float sum over a large vocabulary loses digits.
  for (int64_t first = 0; first < size; first += 1024) {
    int64_t count = size - first < 1024 ? size - first : 1024;
    total += static_cast<double>(
      exponentials(x + first, scale, max, count, out + first));
  }
  return {max, total};
}

} // namespace

extern const cpu_kernels SWAGE_JOIN(kernels_, SWAGE_VARIANT);
const cpu_kernels SWAGE_JOIN(kernels_, SWAGE_VARIANT) = {
  SWAGE_TEXT(SWAGE_VARIANT),
  width,
  pack,
  linear,
  rms_norm,
  norm_rotate,
  attend,
  silu_multiply,
  softmax_row,
};

} // namespace swage::kernels
