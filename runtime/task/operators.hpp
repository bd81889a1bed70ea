#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace swage {

/// How an operator walks over its operands. The synthesiser has one form per
/// family, not one per operator.
enum class family : uint8_t {
  unary,     ///< Element-wise on one value.
  binary,    ///< Element-wise on two values of one shape.
  parameter, ///< Element-wise with a broadcast parameter.
  reduce,    ///< One axis becomes one element.
  normalise, ///< Element-wise after statistics over one axis.
  scan,      ///< Running value along one axis.
  layout,    ///< Moves elements.
  linear,    ///< x W^T + b with W (features, last dimension).
  matmul,    ///< Product of two values, batched if they have three dimensions.
  loss,      ///< All elements of two values become one number.
};

/// The shape of a parameter that an operator owns.
enum class parameter_kind : uint8_t {
  none,
  one,     ///< (1)
  last,    ///< (last dimension)
  channel, ///< (second dimension)
  matrix,  ///< (features, last dimension)
  feature, ///< (features)
};

/// Range of a constant: drawn uniformly from {low, low + step, ..., high}.
struct constant_range {
  double low = 0, high = 0, step = 0;

  bool used() const { return step > 0; }
};

/// One loop over an axis that computes the statistic `var`.
struct axis_pass {
  const char* var = nullptr;   ///< Null: there is no such pass.
  const char* init = nullptr;  ///< Its start value.
  const char* step = nullptr;  ///< Statement on the element `v`.
  const char* after = nullptr; ///< Statement after the loop, or null.
  const char* combine = "+";   ///< How OpenMP may combine two of them.
};

/// What may be composed with what, so that a program neither degenerates to a
/// constant nor loses all its digits to cancellation.
enum operator_flags : uint32_t {
  keeps_zero = 1,     ///< f(v) is about slope * v near zero.
  nonneg = 2,         ///< Results are at least zero.
  idle_on_nonneg = 4, ///< Does (nearly) nothing on values of at least zero.
  input_only = 8,     ///< Where it is discontinuous, inputs are exact.
  calm_input = 16,    ///< Ill-conditioned for large operands.
  centers = 32,       ///< Subtracts a mean: loses digits if the mean dominates.
  small = 64,         ///< Results are far below one.
  needs_rank3 = 128,
  needs_divisible = 256, ///< The second dimension is divided into groups.
  signed_only = 512,     ///< Pointless or constant on values of at least zero.
  transposed_other = 1024, ///< Multiplies with the second operand's transpose.
  rescales = 2048,         ///< Still does visible work on values far below one.
  spreads = 4096,   ///< Still does visible work on values close to each other.
  nonpos = 8192,    ///< Results are at most zero.
  picks = 16384,    ///< Constant if the operand is discrete.
  discrete = 32768, ///< Few different results, or many at their upper bound.
};

/// One row of the operator table. Templates replace {v} (operand), {a} (second
/// operand), {w} {w1} (parameters), {c0} {c1} (constants), {d} (axis), {k}
/// (keepdim), {n} (elements along the axis), {g} (groups or shift), {p}
/// (order).
struct operator_row {
  const char* name;
  family kind;
  const char* python; ///< Expression.
  const char* c;      ///< Expression on `v`; for axes the result or element.
  constant_range constants[2] = {};
  uint32_t flags = 0;
  /// Growth of the magnitude: 0 bounded, 1 linear, 2 square, ...
  int degree = 1;
  parameter_kind parameters[2] = {};
  axis_pass passes[2] = {};

  bool has(operator_flags flag) const { return (flags & flag) != 0; }
  bool elementwise() const { return kind <= family::parameter; }
};

/// All operators, in a fixed order that generated sets depend on.
std::span<const operator_row> operators();

/// Null if there is no such operator.
const operator_row* find_operator(std::string_view name);

/// Why `tasks.operators` may not have `name` in it, and what it may have.
std::optional<std::string> operator_complaint(std::string_view name);

} // namespace swage
