#pragma once

#include "runtime/task/operators.hpp"

#include <span>

namespace swage {

/// The parts of the operator table, in its order.
std::span<const operator_row> unary_operators();
/// Element-wise with a second value or a parameter.
std::span<const operator_row> mixed_operators();
/// Along an axis, layouts, products and losses.
std::span<const operator_row> axis_operators();

} // namespace swage
