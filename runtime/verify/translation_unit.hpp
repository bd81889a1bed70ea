#pragma once

#include "runtime/task/task.hpp"

#include <string>
#include <string_view>

namespace swage {

/// Name under which the compiler speaks of the candidate's own lines.
inline constexpr std::string_view candidate_file = "kernel.cpp";

/// The source that is compiled: the prototype, so that a mismatch is an error,
/// then `swage_call`, which unpacks an argument list, then the candidate. It
/// comes last, so there is nothing behind it that it could break open.
std::string translation_unit(std::string_view code, const signature& args);

} // namespace swage
