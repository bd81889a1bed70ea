#pragma once

#include "runtime/verify/verdict.hpp"

#include <string>
#include <string_view>

namespace swage {

/// The object that `--json` prints: the published tuple, pass_fraction,
/// reward and times; null where nothing was measured. An `id` stands first.
std::string verdict_json(const verdict& outcome, double reward,
                         std::string_view id = {});

/// One line per field: name, value.
std::string verdict_lines(const verdict& outcome, double reward);

/// 0 ok, 1 not ok, 2 the task is invalid, 3 our side failed.
int verdict_exit_code(const verdict& outcome);

} // namespace swage
