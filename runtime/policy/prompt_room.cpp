#include "runtime/policy/prompt_room.hpp"

#include "runtime/task/prompt.hpp"

#include <fmt/format.h>

#include <limits>
#include <vector>

namespace swage {

result<size_t> count_too_long(const task_sets& sets, const config& settings,
                              const tokenizer& tokens) {
  size_t out = 0;
  for (auto* set : {&sets.train, &sets.validation, &sets.held_out}) {
    size_t too_long = 0, shortest = std::numeric_limits<size_t>::max();
    const task* of = nullptr;
    for (auto& one : *set) {
      auto length
        = tokens.encode(render_prompt(one, settings.tasks.prompt)).size();
      too_long += length >= settings.policy.max_tokens;
      if (length < shortest) {
        shortest = length;
        of = &one;
      }
    }
    if (of && too_long == set->size())
      return fail(ec::invalid_config,
                  fmt::format("no prompt leaves room for a response within "
                              "policy.max_tokens = {}: with tasks.prompt = "
                              "\"{}\" the shortest one, of task {}, has {} "
                              "tokens; raise max_tokens or choose another "
                              "prompt",
                              settings.policy.max_tokens,
                              settings.tasks.prompt, of->id, shortest));
    out += too_long;
  }
  return out;
}

} // namespace swage
