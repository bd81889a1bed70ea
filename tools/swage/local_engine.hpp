#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/verify/start_engine.hpp"

#include <filesystem>
#include <memory>

namespace swage {

/// A task from a KernelBench-style file, judged as `[verifier]` says.
result<task> read_task(const std::filesystem::path& file,
                       const verifier_config& settings);

/// A file's content; `what` says in the error what was looked for.
result<std::string> read_file(const std::filesystem::path& file,
                              std::string_view what);

} // namespace swage
