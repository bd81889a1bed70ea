#pragma once

#include "runtime/task/draw.hpp"
#include "runtime/task/program.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace swage {

/// Builds one program value by value, and knows of each value what may follow
/// it: no operator that would do nothing visible, give a constant, or lose its
/// digits at the scales that a verifier tries.
class composer {
public:
  composer(draw& random, int level) : random_{random} { what_.level = level; }

  /// Adds an input and returns its value. @pre No operator was added.
  int input(std::vector<int64_t> shape, view how = view::contiguous);

  /// Applies an operator; constants come from its ranges.
  int apply(const operator_row& row, int operand, int other = -1);
  int apply(std::string_view name, int operand, int other = -1);

  /// Applies up to `count` element-wise operators that fit what came before
  /// and what comes next.
  /// @param next The operator that will follow, or null.
  /// @param same_shape Inputs that a binary operator may take.
  int chain(int operand, int count, const operator_row* next,
            const std::vector<int>& same_shape);

  /// Whether `row` (not a layout or product) may be applied to a value.
  bool fits(const operator_row& row, int operand) const;

  program_node& last() { return what_.nodes.back(); }
  draw& random() { return random_; }
  const program& current() const { return what_; }

private:
  /// What is known of a value.
  struct facts {
    int degree = 1;   ///< Growth with the inputs' scale.
    bool raw = true;  ///< An input, or elements of it.
    bool calm = true; ///< As large as an input, or bounded.
    bool nonneg = false, nonpos = false;
    bool small = false;    ///< Far below one.
    bool close = false;    ///< Values close to each other: a reduction's.
    bool discrete = false; ///< Few different values.
    bool from_zero = true; ///< Near zero where the inputs are near zero.
    const operator_row* row = nullptr;
  };

  static bool fits(const operator_row& row, const facts& before);
  static facts after(const operator_row& row, const facts& before,
                     const facts* other);
  std::vector<const operator_row*> usable(int operand, const operator_row* next,
                                          bool same_shape) const;
  const facts& known(int value) const {
    return facts_[static_cast<size_t>(value)];
  }

  draw& random_;
  program what_;
  std::vector<facts> facts_;
};

} // namespace swage
