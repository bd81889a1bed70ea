#pragma once

#include "kernels/cpu_kernels.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// The same functions as `cpu_kernels`, computed plainly in double: what the
/// kernels are tested against.
namespace swage::kernels::reference {

using values = std::vector<double>;

/// [rows, inputs] x [outputs, inputs] -> [rows, outputs]
values linear(std::span<const float> x, std::span<const float> weight,
              int64_t inputs);

/// One row.
values rms_norm(std::span<const float> x, std::span<const float> weight,
                double eps);

/// One head, `cosines.size()` pairs.
values norm_rotate(std::span<const float> head, std::span<const float> weight,
                   double eps, std::span<const float> cosines,
                   std::span<const float> sines);

/// One row, all heads.
values attend(const attention_row& row, const attention_shape& shape);

/// Causal attention of one query head over [length, dim] each.
values causal_attention(std::span<const float> queries,
                        std::span<const float> keys,
                        std::span<const float> values_, int64_t dim);

/// One row: [gate, up] -> silu(gate) * up.
values silu_multiply(std::span<const float> x);

/// log softmax(x * scale) of one row.
values log_softmax(std::span<const float> x, double scale);

} // namespace swage::kernels::reference
