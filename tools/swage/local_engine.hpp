#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/verify/start_engine.hpp"

#include <memory>
#include <string>

namespace swage {

/// An engine and the one task that it has loaded.
struct judge_of_one {
  std::unique_ptr<engine> judge;
  task what;
};

/// Starts an engine and loads the task, which takes seconds and is said. An
/// error about the task begins with `name`.
result<judge_of_one> judge_one(const config& settings, const task& what,
                               const std::string& name, bool read_programs);

/// `engine::verify`; its steps are said.
verdict verify_alone(judge_of_one& at, const candidate& who);

} // namespace swage
