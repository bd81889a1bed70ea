#pragma once

#include "runtime/task/task.hpp"

#include <string>

namespace swage {

/// Inputs and operators of a task in the compact normal form, without the "->"
/// that ends the prompt. "x ab" has sizes na and nb, "strided" says that its
/// strides are arguments; an operator works on the result of the line before,
/// "of x" on an input, "#2" is the result of the second operator. A task without
/// a program is described by the lines of `forward` instead.
std::string compact_description(const task& what);

} // namespace swage
