#pragma once

#include "runtime/error.hpp"
#include "runtime/task/operators.hpp"
#include "runtime/task/task.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// How an input lies in memory. All but the first are views that get_inputs
/// makes of a larger or a transposed tensor; they exist for two dimensions.
enum class view : uint8_t { contiguous, transposed, sliced, stepped };

/// Columns that a sliced view leaves out of each row.
inline constexpr int64_t sliced_columns = 16;

/// An input of a program.
struct program_input {
  std::vector<int64_t> shape;
  view how = view::contiguous;
};

/// One operator applied to values. Values are numbered: first the inputs, then
/// the nodes in order.
struct program_node {
  const operator_row* row = nullptr;
  int operand = 0;
  int other = -1; ///< Second operand of binary, matmul and loss; else -1.
  std::vector<double> constants; ///< As many as the row uses.
  int axis = 0;                  ///< Of reduce, normalise, scan, flip, roll.
  bool keepdim = false;          ///< Of reduce.
  int64_t
    count = 0; ///< Features of linear, groups of group_norm, shift of roll.
  std::vector<int> order; ///< Of transpose and permute: new dimension to old.
};

/// A tensor program: a directed graph of operators on float32 tensors. The last
/// node is the result.
struct program {
  int level = 1;
  std::vector<program_input> inputs;
  std::vector<program_node> nodes;

  size_t num_values() const { return inputs.size() + nodes.size(); }
  /// @pre `value` is the number of a node.
  const program_node& node(int value) const {
    return nodes[static_cast<size_t>(value) - inputs.size()];
  }
  bool is_input(int value) const {
    return value < static_cast<int>(inputs.size());
  }
};

/// A shape as numbers and, dimension by dimension, as the C expression that a
/// kernel in function form has for it: "na" is dimension a of the first input,
/// "n1b" dimension b of the second, "96" a constant of the task.
struct value_shape {
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
};

/// A parameter that a node owns, named in `state_dict` order: w, w1, w2, ...
struct program_parameter {
  std::string name;
  int value = 0; ///< The node that owns it.
  parameter_kind kind = parameter_kind::none;
  std::vector<int64_t> shape;
};

/// Names of the arguments in function form: input 0 is "x", the next "x1".
std::string input_name(size_t index);
std::string state_name(size_t index);
std::string output_name(size_t index);
/// "na", "nb", ... for the first input, "n1a", "n1b", ... for the second.
std::string size_name(size_t input, size_t dimension);
std::string stride_name(size_t input, size_t dimension);

/// Shapes of all values, or `invalid_argument` naming the node and what does
/// not fit.
result<std::vector<value_shape>> infer(const program& what);

/// Parameters of all nodes in order. @pre `infer` succeeded with `shapes`.
std::vector<program_parameter>
parameters(const program& what, const std::vector<value_shape>& shapes);

/// Interface of the function form: exactly what PyTorch says about the
/// rendered module.
result<signature> signature_of(const program& what);

/// The operators and their wiring, axes, views and ranks: all that changes how
/// a kernel must be written, and no size or constant.
std::string canonical(const program& what);

/// Whether there is less to compute than is written: the result does not depend
/// on every input, or an operator gives a constant, or a value that was there
/// before, as in (x + c) - x or (x - x1) + x1. @pre `infer` succeeded.
bool is_degenerate(const program& what);

/// One line of text that `parse_program` reads back.
std::string serialise(const program& what);

/// Fails with `invalid_argument` naming the position and what was expected.
result<program> parse_program(const std::string& text);

} // namespace swage
