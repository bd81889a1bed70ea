#pragma once

#include "runtime/config/config.hpp"
#include "runtime/task/task.hpp"

#include <optional>
#include <string>

namespace swage {

/// Why a policy that was taught compact prompts of the tasks that `taught`
/// describes is little good at `what`, if so: no prompt has a name for an
/// operator of it, or no generated task had that operator.
/// @pre An engine loaded `what`, and read its program.
std::optional<std::string> taught_complaint(const task& what,
                                            const tasks_config& taught);

} // namespace swage
