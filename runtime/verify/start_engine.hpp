#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/verify/engine.hpp"

#include <memory>

namespace swage {

/// An engine of this process, as `[verifier]` configures it; finds the
/// programs and the data folder by itself.
/// @param read_programs Of modules that were not generated, when they load.
result<std::unique_ptr<engine>> start_engine(const verifier_config& settings,
                                             bool read_programs = false);

/// Whether prompts are made of programs.
bool needs_programs(const tasks_config& tasks);

reward_options make_reward_options(const reward_config& settings);

} // namespace swage
