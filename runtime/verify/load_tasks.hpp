#pragma once

#include "runtime/verify/engine.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace swage {

/// What a caller hears while tasks are loaded; any may be empty.
struct load_listener {
  std::function<void(const task&, const error&)> on_left_out;
  std::function<void(size_t done, size_t total)> on_progress;
};

/// The tasks as the engine knows them: with the arguments that a kernel gets,
/// which prompts show. What cannot be judged is left out; `task_invalid` if
/// nothing remains.
result<std::vector<task>> load_tasks(engine& judge,
                                     const std::vector<task>& all,
                                     const load_listener& told);

} // namespace swage
