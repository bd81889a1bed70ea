#pragma once

#include "runtime/task/program.hpp"

#include <string>

namespace swage {

/// A constant as Python and prompts print it: "0.3", "2".
std::string constant_text(double value);

/// The program as a KernelBench-style module: Model, get_inputs and
/// get_init_inputs. @pre `infer` succeeds.
std::string render_reference(const program& what);

} // namespace swage
