#pragma once

#include "runtime/task/program.hpp"

#include <string>
#include <vector>

namespace swage {

/// How a kernel is written. Each switch changes the code where it applies.
struct kernel_form {
  const char* name;   ///< Of the strategy.
  bool fused = false; ///< Element-wise operators join their neighbours' loops.
  bool threads = false; ///< Outer loops run on several threads.
  bool simd = false;    ///< Inner loops are vectorised by order.
  bool
    blocked = false; ///< Walks memory in the order of its lines, or in blocks.
  bool by_row = false; ///< All stages of one row before the next row.
};

/// Nodes that share one loop nest: element-wise ones, at most one other, and
/// element-wise ones on its result.
struct kernel_stage {
  std::vector<int> before;
  int core = -1;
  std::vector<int> after;
  int source = 0; ///< Value that the first node reads.
  int result = 0; ///< Value that the last node makes.
};

/// Where values live: "x", "y", or a temporary that a stage introduces.
struct kernel_plan {
  program what;
  std::vector<value_shape> shapes;
  std::vector<program_parameter> states;
  std::vector<kernel_stage> stages;
  std::vector<std::string> buffers; ///< By value; empty inside a stage.

  const value_shape& shape(int value) const {
    return shapes[static_cast<size_t>(value)];
  }
  const std::string& buffer(int value) const {
    return buffers[static_cast<size_t>(value)];
  }
  /// Whether the stage's buffer is new, and so must be declared.
  bool introduces(size_t stage) const;
  /// Whether an input is a strided view.
  bool strided(int value) const;
};

/// Groups nodes into stages and gives every stage's result a buffer. A stage
/// works in place where nothing else needs what it overwrites.
kernel_plan make_plan(const program& what, bool fused);

/// A product of size expressions such as "na*nb"; factors "1" are left out.
std::string times(const std::vector<std::string>& factors);

/// Where an element of a buffer lies: "y+i*nb", "&t[i*nb]" in a temporary.
std::string address(const std::string& buffer, const std::string& index);

/// `text` with the identifier `name` replaced.
std::string rename(const std::string& text, const std::string& name,
                   const std::string& with);

} // namespace swage
