#pragma once

#include "kernels/cpu_kernels.hpp"

#include <cstdint>

/// Causal attention over whole sequences, for training: made of the products
/// of `cpu_kernels`, in blocks of rows, so that the upper half of the scores is
/// never computed.
namespace swage::kernels {

/// One sequence and one head of keys with the query heads that share it.
struct attended_sequence {
  rows_view queries; ///< [length, sharing * dim]; heads side by side.
  rows_view keys;    ///< [length, dim]
  rows_view values;  ///< [length, dim]
  int64_t sharing = 1;
  int64_t dim = 0;
};

/// out[r, h] = sum_{t <= r} softmax_t(q[r, h] . k[t] / sqrt(dim)) v[t]
/// `out` is laid out like the queries.
void causal_attention(const attended_sequence& in, rows_view out);

/// Where the gradients go: laid out like what they are gradients of.
struct attention_gradient {
  rows_view queries;
  rows_view keys;
  rows_view values;
};

/// The gradient of `causal_attention`; all of `to` is written.
void causal_attention_gradient(const attended_sequence& in, rows_view grad,
                               const attention_gradient& to);

} // namespace swage::kernels
