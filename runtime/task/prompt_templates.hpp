#pragma once

#include <string_view>

namespace swage {

/// The files of runtime/task/prompts/, compiled in.
extern const std::string_view function_prompt;
extern const std::string_view module_prompt;
extern const std::string_view repair_prompt;

} // namespace swage
