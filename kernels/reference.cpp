#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>

namespace swage::kernels::reference {

values linear(std::span<const float> x, std::span<const float> weight,
              int64_t inputs) {
  auto k = static_cast<size_t>(inputs);
  values out;
  for (size_t r = 0; r < x.size() / k; ++r)
    for (size_t o = 0; o < weight.size() / k; ++o) {
      double sum = 0;
      for (size_t i = 0; i < k; ++i)
        sum += static_cast<double>(x[r * k + i])
               * static_cast<double>(weight[o * k + i]);
      out.push_back(sum);
    }
  return out;
}

values rms_norm(std::span<const float> x, std::span<const float> weight,
                double eps) {
  double squares = 0;
  for (double value : x)
    squares += value * value;
  double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  values out;
  for (size_t i = 0; i < x.size(); ++i)
    out.push_back(static_cast<double>(x[i]) * scale
                  * static_cast<double>(weight[i]));
  return out;
}

values norm_rotate(std::span<const float> head, std::span<const float> weight,
                   double eps, std::span<const float> cosines,
                   std::span<const float> sines) {
  auto out = rms_norm(head, weight, eps);
  for (size_t i = 0; i < cosines.size(); ++i) {
    double a = out[i], b = out[i + cosines.size()];
    double c = static_cast<double>(cosines[i]);
    double s = static_cast<double>(sines[i]);
    out[i] = a * c - b * s;
    out[i + cosines.size()] = b * c + a * s;
  }
  return out;
}

namespace {

/// Of position `t` and dimension `d` in one head's keys.
int64_t key_offset(int64_t t, int64_t d, int64_t head_dim) {
  return (t / key_block * head_dim + d) * key_block + t % key_block;
}

} // namespace

values attend(const attention_row& row, const attention_shape& shape) {
  values out;
  int64_t slot = shape.head_dim * shape.capacity;
  for (int64_t h = 0; h < shape.heads; ++h) {
    int64_t kv = h / (shape.heads / shape.kv_heads);
    std::vector<double> weights;
    for (int64_t t = 0; t < row.length; ++t) {
      double sum = 0;
      for (int64_t d = 0; d < shape.head_dim; ++d)
        sum += static_cast<double>(row.query[h * shape.head_dim + d])
               * static_cast<double>(
                 row.keys[kv * slot + key_offset(t, d, shape.head_dim)]);
      weights.push_back(sum / std::sqrt(static_cast<double>(shape.head_dim)));
    }
    double max = *std::max_element(weights.begin(), weights.end()), total = 0;
    for (auto& weight : weights)
      total += weight = std::exp(weight - max);
    for (int64_t d = 0; d < shape.head_dim; ++d) {
      double sum = 0;
      for (int64_t t = 0; t < row.length; ++t)
        sum += weights[static_cast<size_t>(t)]
               * static_cast<double>(
                 row.values[kv * slot + t * shape.head_dim + d]);
      out.push_back(sum / total);
    }
  }
  return out;
}

values causal_attention(std::span<const float> queries,
                        std::span<const float> keys,
                        std::span<const float> values_, int64_t dim) {
  auto size = static_cast<size_t>(dim);
  values out(queries.size());
  for (size_t r = 0; r < queries.size() / size; ++r) {
    std::vector<double> weights;
    for (size_t t = 0; t <= r; ++t) {
      double sum = 0;
      for (size_t d = 0; d < size; ++d)
        sum += static_cast<double>(queries[r * size + d])
               * static_cast<double>(keys[t * size + d]);
      weights.push_back(std::exp(sum / std::sqrt(static_cast<double>(dim))));
    }
    double total = 0;
    for (double weight : weights)
      total += weight;
    for (size_t t = 0; t <= r; ++t)
      for (size_t d = 0; d < size; ++d)
        out[r * size + d] += weights[t] / total
                             * static_cast<double>(values_[t * size + d]);
  }
  return out;
}

values silu_multiply(std::span<const float> x) {
  values out;
  for (size_t i = 0; i < x.size() / 2; ++i) {
    double gate = x[i], up = x[x.size() / 2 + i];
    out.push_back(gate / (1 + std::exp(-gate)) * up);
  }
  return out;
}

values log_softmax(std::span<const float> x, double scale) {
  double max = -INFINITY, total = 0;
  for (double value : x)
    max = std::max(max, value * scale);
  for (double value : x)
    total += std::exp(value * scale - max);
  values out;
  for (double value : x)
    out.push_back(value * scale - max - std::log(total));
  return out;
}

} // namespace swage::kernels::reference
