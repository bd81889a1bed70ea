#pragma once

#include "runtime/task/task.hpp"

#include <string>
#include <string_view>

namespace swage {

/// The prompt for a task.
/// "compact": inputs with their dimensions, one operator a line with its
/// constants, then "->"; 10 to 60 tokens of the quickstart policy. A task that
/// was not generated shows the lines of its `forward` instead.
/// "full": a text for instruction-tuned models with the reference, the
/// prototype and the rules, from the templates in runtime/task/prompts/.
/// @pre For "full", `args` was filled in by generating or loading the task.
std::string render_prompt(const task& what, std::string_view style);

/// The prompt for another try, from what failed and the feedback on it.
/// "compact" gives the category and the failed code; "full" gives all of it.
std::string render_repair_prompt(const task& what,
                                 std::string_view failed_response,
                                 std::string_view feedback,
                                 std::string_view style);

/// Names the wording of all prompts: 16 hexadecimal digits, part of the key
/// that a verdict is stored under.
std::string prompt_hash();

} // namespace swage
