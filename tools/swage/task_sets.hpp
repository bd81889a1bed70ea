#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/task_sets.hpp"

#include <string>
#include <vector>

namespace swage {

/// One of them by name: "train", "validation" or "held-out".
std::vector<task>& part_of(task_sets& sets, const std::string& name);

/// All of the suite if it was named on the command line, else one set of the
/// configuration's tasks.
result<std::vector<task>> load_part(const config& settings, bool is_named,
                                    const std::string& part);

/// The task with this id, or `not_found` with the nearest one.
result<task> task_by_id(const std::vector<task>& all, const std::string& id);

} // namespace swage
