#pragma once

#include "runtime/config/config.hpp"
#include "runtime/config/rules.hpp"
#include "runtime/error.hpp"

#include <string_view>

namespace swage {

/// Refuses what the configuration can say and this program cannot do:
/// `ec::unsupported`, naming the knob, its value, where it was set, and what
/// there is instead.
result<void> check_built(const config& settings, const knob_origins& origins);

/// The same for one value of a knob, such as "verifier.target" and "musa".
result<void> check_built(std::string_view path, std::string_view value);

} // namespace swage
