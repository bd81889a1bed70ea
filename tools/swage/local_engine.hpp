#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/verify/start_engine.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace swage {

/// `engine::load`; an error about the task begins with `name`.
result<task> load_named(engine& judge, const task& what,
                        const std::string& name);

} // namespace swage
