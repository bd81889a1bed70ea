#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/task.hpp"

#include <vector>

namespace swage {

/// Tasks by what they are for. Validation chooses checkpoints and knobs, the
/// held-out set is looked at by the final evaluation only. None is in two.
struct task_sets {
  std::vector<task> train, validation, held_out;
};

/// The three sets of `[tasks]`: generated, or a suite that is split.
result<task_sets> load_task_sets(const config& settings);

} // namespace swage
