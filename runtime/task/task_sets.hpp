#pragma once

#include "runtime/config/config.hpp"
#include "runtime/config/rules.hpp"
#include "runtime/error.hpp"
#include "runtime/task/task.hpp"

#include <functional>
#include <string>
#include <vector>

namespace swage {

/// Tasks by what they are for. Validation chooses checkpoints and knobs, the
/// held-out set is looked at by the final evaluation only. None is in two.
struct task_sets {
  std::vector<task> train, validation, held_out;
};

/// Refuses operators that do not exist; `load_config` calls it.
result<void> check_tasks(const config& settings, const knob_origins& origins);

/// Hears, as a sentence, what a suite's folder holds beside tasks.
using suite_listener = std::function<void(const std::string& what)>;

/// The three sets of `[tasks]`: generated, or a suite that is split.
result<task_sets> load_task_sets(const config& settings,
                                 const suite_listener& told = {});

} // namespace swage
