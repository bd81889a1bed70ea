#pragma once

#include "runtime/config/config.hpp"
#include "runtime/policy/rollout_core.hpp"
#include "runtime/policy/tokenizer.hpp"

#include <memory>

namespace swage {

/// The tools of a rollout as a configuration names them: prompts of its style,
/// the synthesiser for teaching, rewards and returns.
rollout_tools make_rollout_tools(const config& settings,
                                 std::shared_ptr<const tokenizer> tokens);

/// The id that ends a response: "<|im_end|>" or "<|endoftext|>", whichever the
/// tokenizer has; -1 if it has neither.
int32_t end_of_text(const tokenizer& tokens);

} // namespace swage
