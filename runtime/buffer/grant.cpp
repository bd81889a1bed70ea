#include "runtime/buffer/grant.hpp"

#include <array>

namespace swage {

namespace {

constexpr std::array stages = {"teach",     "sft",      "rft",
                               "rl-single", "rl-multi", "eval"};

} // namespace

const char* to_string(stage_kind value) {
  return stages[static_cast<size_t>(value)];
}

bool from_string(const std::string& text, stage_kind& value) {
  for (size_t i = 0; i < stages.size(); ++i)
    if (text == stages[i]) {
      value = static_cast<stage_kind>(i);
      return true;
    }
  return false;
}

} // namespace swage
