#pragma once

#include "runtime/verify/compile_process.hpp"
#include "runtime/verify/rejection.hpp"

#include <string>
#include <string_view>

namespace swage {

/// Sorts a refused compilation into its category, with the compiler's words
/// about the candidate's own lines: "line 3, column 7: ...". What it says about
/// other files is left out, unless they are the system's headers. At most about
/// 1200 bytes.
/// @pre `seen.code != 0` and not stopped.
rejection diagnose(const compile_outcome& seen, std::string_view prototype);

} // namespace swage
