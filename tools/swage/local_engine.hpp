#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/verify/start_engine.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace swage {

/// A task from a KernelBench-style file, judged as `[verifier]` says.
result<task> read_task(const std::filesystem::path& file,
                       const verifier_config& settings);

/// `engine::load`; an error about the task begins with `name`.
result<task> load_named(engine& judge, const task& what,
                        const std::string& name);

} // namespace swage
