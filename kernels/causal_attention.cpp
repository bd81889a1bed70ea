#include "kernels/causal_attention.hpp"

#include "kernels/aligned.hpp"

#include <algorithm>
#include <cmath>

namespace swage::kernels {

namespace {

// Rows of scores computed together: whole tiles of every instruction set.
constexpr int64_t block_rows = 48;

int64_t width() {
  return cpu().panel_width;
}

int64_t padded(int64_t count) {
  return panel_count(count) * width();
}

rows_view part(rows_view x, int64_t first, int64_t rows) {
  return {x.data + first * x.stride, rows, x.stride};
}

/// A matrix [inputs, outputs] packed as the weight that `linear` multiplies
/// by, in panels whose inputs can be cut short.
class row_panels {
public:
  void pack(rows_view from, int64_t outputs) {
    inputs_ = from.rows;
    outputs_ = outputs;
    data_.resize(static_cast<size_t>(padded(outputs) * inputs_));
    float* to = data_.data();
    for (int64_t first = 0; first < outputs; first += width())
      for (int64_t i = 0; i < inputs_; ++i, to += width()) {
        auto count = std::min(width(), outputs - first);
        std::copy_n(from.data + i * from.stride + first, count, to);
        std::fill(to + count, to + width(), 0.0f);
      }
  }

  /// y = x * matrix (or y +=), over the first `inputs` inputs.
  void multiply(rows_view x, int64_t inputs, rows_view y, bool add) const {
    for (int64_t p = 0; p < panel_count(outputs_); ++p) {
      auto first = p * width();
      cpu().linear(x,
                   {data_.data() + first * inputs_,
                    std::min(width(), outputs_ - first), inputs},
                   {y.data + first, y.rows, y.stride}, {0, 1}, add);
    }
  }

private:
  int64_t inputs_ = 0;
  int64_t outputs_ = 0;
  float_buffer data_;
};

/// A matrix [outputs, inputs] packed as `linear` wants it.
class column_panels {
public:
  void pack(rows_view from, int64_t inputs) {
    dense_.resize(static_cast<size_t>(from.rows * inputs));
    for (int64_t r = 0; r < from.rows; ++r)
      std::copy_n(from.data + r * from.stride, inputs,
                  dense_.data() + r * inputs);
    data_.resize(static_cast<size_t>(packed_size(from.rows, inputs)));
    cpu().pack(dense_.data(), from.rows, inputs, data_.data());
    // Zeros fill the last panel up, so that whole panels can be computed.
    view_ = {data_.data(), padded(from.rows), inputs};
  }

  /// y[:, :outputs] = x * matrix^T, and more up to a whole panel.
  void multiply(rows_view x, int64_t outputs, rows_view y) const {
    cpu().linear(x, view_, y, {0, panel_count(outputs)}, false);
  }

private:
  float_buffer dense_, data_;
  packed_view view_;
};

/// Buffers of one thread, kept between calls.
struct workspace {
  column_panels keys, values;
  row_panels key_rows, value_rows, block;
  float_buffer scores, gradients, transposed, key_sums, value_sums;

  static workspace& of_thread() {
    thread_local workspace out;
    return out;
  }
};

rows_view sized(float_buffer& buffer, int64_t rows, int64_t stride) {
  auto size = static_cast<size_t>(rows * stride);
  if (buffer.size() < size)
    buffer.resize(size);
  return {buffer.data(), rows, stride};
}

/// Rows first .. of one query head.
struct block {
  int64_t first;
  int64_t rows;
  int64_t head;

  /// Keys that its last row sees.
  int64_t seen() const { return first + rows; }
};

template <class Body>
void for_blocks(const attended_sequence& in, Body body) {
  for (int64_t h = 0; h < in.sharing; ++h)
    for (int64_t first = 0; first < in.queries.rows; first += block_rows)
      body(block{first, std::min(block_rows, in.queries.rows - first), h});
}

rows_view head_rows(rows_view x, const block& at, int64_t dim) {
  auto out = part(x, at.first, at.rows);
  out.data += at.head * dim;
  return out;
}

/// The block's attention weights, zero above the diagonal.
rows_view weights_of(const attended_sequence& in, const block& at,
                     workspace& space) {
  auto out = sized(space.scores, at.rows, padded(in.keys.rows));
  space.keys.multiply(head_rows(in.queries, at, in.dim), at.seen(), out);
  auto scale = 1.0f / std::sqrt(static_cast<float>(in.dim));
  for (int64_t r = 0; r < at.rows; ++r) {
    float* row = out.data + r * out.stride;
    auto length = at.first + r + 1;
    auto sums = cpu().softmax_row(row, scale, length, row);
    auto factor = static_cast<float>(1 / sums.sum);
    for (int64_t t = 0; t < length; ++t)
      row[t] *= factor;
    std::fill(row + length, row + at.seen(), 0.0f);
  }
  return out;
}

/// dS = P (dP - sum P dP) / sqrt(dim), in dP's place.
void score_gradients(rows_view weights, rows_view grad, const block& at,
                     int64_t dim) {
  auto scale = 1.0f / std::sqrt(static_cast<float>(dim));
  for (int64_t r = 0; r < at.rows; ++r) {
    const float* p = weights.data + r * weights.stride;
    float* d = grad.data + r * grad.stride;
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (int64_t t = 0; t < at.seen(); ++t)
      mean += p[t] * d[t];
    for (int64_t t = 0; t < at.seen(); ++t)
      d[t] = p[t] * (d[t] - mean) * scale;
  }
}

/// sums [dim, length] += x^T [dim, rows] * m [rows, seen]
void add_outer(rows_view x, rows_view m, const block& at, rows_view sums,
               workspace& space) {
  auto dim = sums.rows;
  auto turned = sized(space.transposed, dim, block_rows);
  for (int64_t r = 0; r < at.rows; ++r)
    for (int64_t d = 0; d < dim; ++d)
      turned.data[d * block_rows + r] = x.data[r * x.stride + d];
  space.block.pack(m, at.seen());
  space.block.multiply(turned, at.rows, sums, true);
}

/// to [length, dim] = sums [dim, length]
void turn_back(rows_view sums, rows_view to) {
  for (int64_t t = 0; t < to.rows; ++t)
    for (int64_t d = 0; d < sums.rows; ++d)
      to.data[t * to.stride + d] = sums.data[d * sums.stride + t];
}

} // namespace

void causal_attention(const attended_sequence& in, rows_view out) {
  auto& space = workspace::of_thread();
  space.keys.pack(in.keys, in.dim);
  space.value_rows.pack(in.values, in.dim);
  for_blocks(in, [&](const block& at) {
    auto weights = weights_of(in, at, space);
    space.value_rows.multiply(weights, at.seen(), head_rows(out, at, in.dim),
                              false);
  });
}

void causal_attention_gradient(const attended_sequence& in, rows_view grad,
                               const attention_gradient& to) {
  auto& space = workspace::of_thread();
  auto length = in.keys.rows;
  space.keys.pack(in.keys, in.dim);
  space.key_rows.pack(in.keys, in.dim);
  space.values.pack(in.values, in.dim);
  auto key_sums = sized(space.key_sums, in.dim, padded(length));
  auto value_sums = sized(space.value_sums, in.dim, padded(length));
  std::fill_n(key_sums.data, in.dim * key_sums.stride, 0.0f);
  std::fill_n(value_sums.data, in.dim * value_sums.stride, 0.0f);
  for_blocks(in, [&](const block& at) {
    auto weights = weights_of(in, at, space);
    auto given = head_rows(grad, at, in.dim);
    auto scores = sized(space.gradients, at.rows, padded(length));
    space.values.multiply(given, at.seen(), scores);
    score_gradients(weights, scores, at, in.dim);
    space.key_rows.multiply(scores, at.seen(),
                            head_rows(to.queries, at, in.dim), false);
    add_outer(head_rows(in.queries, at, in.dim), scores, at, key_sums, space);
    add_outer(given, weights, at, value_sums, space);
  });
  turn_back(key_sums, to.keys);
  turn_back(value_sums, to.values);
}

} // namespace swage::kernels
