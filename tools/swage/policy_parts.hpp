#pragma once

#include "actors/system.hpp"

namespace swage {

/// The policy of `[policy]` through LibTorch.
policy_factory make_policy_factory(const config& settings);

} // namespace swage
