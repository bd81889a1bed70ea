#pragma once

#include "runtime/task/kernel_plan.hpp"

#include <string>
#include <vector>

namespace swage {

/// C expressions for where a loop body stands.
struct loop_place {
  std::string flat;        ///< Index into a contiguous value.
  std::string row, column; ///< Of two dimensions, for strided inputs.
  std::string last;        ///< Index of the last dimension.
  std::string channel;     ///< Index of the second dimension of three.
  std::string length;      ///< Elements along the axis.
  std::string in_row;      ///< Index into a buffer of one row.
};

/// Writes one kernel in function form. Statements are dense and end lines, so
/// that a small vocabulary spells them in few tokens.
class kernel_writer {
public:
  kernel_writer(const kernel_plan& plan, const kernel_form& form)
    : plan_{plan}, form_{form} {
    // nop
  }

  /// The whole source.
  std::string write();

  /// A chain of element-wise operators in blocks that stay in the cache, one
  /// loop per operator. @pre `is_plain_chain` for the plan's program.
  std::string write_in_blocks();

private:
  using lines = std::vector<std::string>;

  void stage(size_t index);
  void elementwise(const kernel_stage& stage);
  void axis(const kernel_stage& stage);
  void reduce(const kernel_stage& stage, const struct axis_walk& walk);
  void accumulate(const kernel_stage& stage, const struct axis_walk& walk);
  void normalise(const kernel_stage& stage, const struct axis_walk& walk);
  void scan(const kernel_stage& stage, const struct axis_walk& walk);
  void loss(const kernel_stage& stage);
  void move(const kernel_stage& stage);
  void product(const kernel_stage& stage);
  void product_by_rows(const kernel_stage& stage,
                       const struct product_terms& terms);

  axis_walk walk_of(const kernel_stage& stage) const;
  axis_walk group_walk(const kernel_stage& stage);
  product_terms terms_of(const kernel_stage& stage) const;
  void pass(const kernel_stage& stage, const axis_walk& walk, int number,
            const std::string& store);
  void finish(const kernel_stage& stage, const axis_walk& walk,
              const std::string& value, const std::string& target);

  /// Places in a loop nest over a whole value.
  loop_place flat_place(const value_shape& shape) const;
  loop_place nested_place(const value_shape& shape) const;
  bool needs_nest(const std::vector<int>& nodes, int source) const;

  std::string load(int value, const loop_place& at) const;
  std::string expression(int node, const loop_place& at) const;
  std::string filled(const char* text, int node, const loop_place& at) const;
  /// "float v=SOURCE;", one statement a node, and "TARGET=...;" at the end.
  lines body(const std::string& source, const std::vector<int>& nodes,
             const loop_place& at, const std::string& target) const;

  void line(const std::string& text) { text_ += text + "\n"; }
  void loop(const std::string& variable, const std::string& limit,
            const lines& body);
  void open(const std::string& variable, const std::string& limit);
  void close();
  void declare(const std::string& buffer, const value_shape& shape);
  /// "float s=0;", or "s=0;" where a stage of the same row declared it.
  void define(const std::string& type, const std::string& name,
              const std::string& value);
  void thread_pragma(bool inner_too = false);
  void simd_pragma(const std::string& reduction = "");

  const kernel_plan& plan_;
  const kernel_form& form_;
  std::string text_;
  std::vector<std::string> row_variables_; ///< Declared in the loop over rows.
};

/// The source of a program in one form.
std::string write_kernel(const program& what, const kernel_form& form);

/// Whether every node of the program works on rows of the last dimension, with
/// whole inputs beside them, so that it can be written row by row.
bool is_row_local(const program& what);

/// Whether the program is two or more element-wise operators, each on the
/// result of the one before, on contiguous inputs.
bool is_plain_chain(const program& what);

} // namespace swage
