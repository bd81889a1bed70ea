#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/program.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/task_sets.hpp"

#include <string>
#include <vector>

namespace swage {

/// How tasks are judged, from the `[verifier]` table.
eval_spec make_eval_spec(const verifier_config& config);

/// A program as a task, complete: reference, signature, tags, canonical.
/// Fails if the program is not valid or the configuration names a target or
/// form that does not exist.
result<task> make_task(const program& what, std::string id,
                       const verifier_config& config);

/// Draws the three sets from `tasks.seed`. Each canonical expression belongs to
/// one set, by its hash; in validation and held-out no expression occurs twice.
/// The sets are the same on every machine.
/// Fails with `invalid_config` if a set cannot be filled.
result<task_sets> generate_sets(const tasks_config& tasks,
                                const verifier_config& verifier);

} // namespace swage
