#pragma once

#include "tools/swage/commands.hpp"

namespace swage {

/// Adds `audit` to the subcommand `tasks`; the action is for when it was given.
action add_tasks_audit(CLI::App& tasks);

} // namespace swage
