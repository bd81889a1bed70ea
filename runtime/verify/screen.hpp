#pragma once

#include "runtime/verify/rejection.hpp"

#include <optional>
#include <string_view>

namespace swage {

/// A cheap refusal of function-form code that cannot be meant well: system
/// calls, processes, sockets, loaders, assembler, paths out of the include
/// folders, and what would break out of the wrapper. By tokens: comments,
/// strings and members of that name do not count. A hint, never the gate; the
/// sandbox is.
std::optional<rejection> screen(std::string_view code);

} // namespace swage
