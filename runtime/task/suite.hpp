#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/generate.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/task_sets.hpp"

#include <filesystem>
#include <vector>

namespace swage {

/// One KernelBench-style module as a task; its id is the file's name. The level
/// is the number in a parent folder called levelN, else 1. `args` stays empty
/// until an engine loads the task.
/// Fails with `not_found`, `io` or `task_invalid`, naming the file.
result<task> load_task_file(const std::filesystem::path& file,
                            const verifier_config& verifier);

/// A module's text as a task of level 1. Fails with `task_invalid` if it has no
/// class Model or no get_inputs.
result<task> make_task(std::string id, std::string reference,
                       const verifier_config& verifier);

/// All tasks of a folder (every .py file below it, by path) or of a file with
/// one JSON object a line: `id` and `reference` are strings, `level` a number
/// (1 if missing), further fields are ignored. Of a folder, `told` hears of each
/// file that is left out because it has no class Model.
/// Fails naming file and line: no JSON, a field that is missing or of another
/// type, an id that occurs twice, a folder that cannot be read, no task at all.
result<std::vector<task>> load_suite(const std::filesystem::path& path,
                                     const verifier_config& verifier,
                                     const suite_listener& told = {});

/// Splits a suite by `tasks.seed`. Modules of one `essence`, which differ only in
/// numbers, names or comments, stay together. A suite smaller than the
/// configured sets gives at most a third to held-out and a fifth to validation.
/// Fails with `invalid_config` if a set that is wanted would be empty.
result<task_sets> split_suite(std::vector<task> all, const tasks_config& tasks);

} // namespace swage
