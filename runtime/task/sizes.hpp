#pragma once

#include "runtime/task/draw.hpp"
#include "runtime/task/program.hpp"

#include <cstdint>
#include <vector>

namespace swage {

/// A shape of `rank` (1 to 4) dimensions with about 2^14 to 2^17 elements; the
/// second dimension of three is a multiple of eight, so that it has groups.
std::vector<int64_t> draw_shape(draw& random, size_t rank);

/// Operands of a small product: (rows, inner) and (inner, columns), with a
/// batch dimension before both if `rank` is three. No two sizes are equal.
struct product_shape {
  std::vector<int64_t> left, right;
};
product_shape draw_product_shape(draw& random, size_t rank);

/// One of the level 3 blocks, in recipes_block.cpp.
program draw_block(draw& random);

} // namespace swage
