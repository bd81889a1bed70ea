#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/generate.hpp"

#include <string>
#include <vector>

namespace swage {

/// The three sets of `[tasks]`: generated, or a suite that is split.
result<task_sets> load_task_sets(const config& settings);

/// One of them by name: "train", "validation" or "held-out".
std::vector<task>& part_of(task_sets& sets, const std::string& name);

/// The task with this id, or `not_found` with the nearest one.
result<task> task_by_id(const std::vector<task>& all, const std::string& id);

} // namespace swage
