#pragma once

#include "runtime/config/config.hpp"
#include "runtime/task/task.hpp"

#include <optional>
#include <span>
#include <string>

namespace swage {

/// The tasks that a policy was taught compact prompts of; nothing where the run
/// that it is of is not known.
using taught_tasks = std::optional<tasks_config>;

/// Why a policy is little good at a module, if so: no prompt has a name for an
/// operator of it, or it has an operator, more operators or a constant that no
/// generated task had.
/// @pre An engine loaded `what`, and read its program.
std::optional<std::string> taught_complaint(const task& what,
                                            const taught_tasks& taught);

/// The same of all modules at once, with counts.
std::optional<std::string> taught_complaint(std::span<const task> all,
                                            const taught_tasks& taught);

/// What a module is in the policy's words and what tasks it was taught, for who
/// got no kernel; empty where either is not known.
std::string taught_text(const task& what, const taught_tasks& taught);

} // namespace swage
