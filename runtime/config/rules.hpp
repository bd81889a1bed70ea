#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"

#include <map>
#include <string>

namespace swage {

/// Where a knob was set, by "table.key": "file.toml:3:1" or "--set key=value".
/// What is not in it has its default.
using knob_origins = std::map<std::string, std::string, std::less<>>;

/// A check of knobs; its message says where they were set.
using config_check = result<void> (*)(const config&, const knob_origins&);

/// Checks the knobs against each other. The message names the knobs of the
/// first contradiction, their values, and where each was set.
result<void> check_rules(const config& settings, const knob_origins& origins);

} // namespace swage
