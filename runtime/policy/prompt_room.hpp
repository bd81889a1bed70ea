#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/policy/tokenizer.hpp"
#include "runtime/task/task_sets.hpp"

#include <cstddef>

namespace swage {

/// Counts the tasks whose prompt leaves no room for a response: all of their
/// samples would be empty. Fails with `invalid_config` where a set consists of
/// nothing else, naming the shortest prompt.
result<size_t> count_too_long(const task_sets& sets, const config& settings,
                              const tokenizer& tokens);

} // namespace swage
