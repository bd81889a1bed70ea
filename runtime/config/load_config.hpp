#pragma once

#include "runtime/config/config.hpp"
#include "runtime/config/rules.hpp"
#include "runtime/error.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace swage {

/// Reads a TOML file and applies the overrides ("table.key=value"), in order.
/// Wrong types, unknown tables and keys, values out of range and knobs that
/// contradict each other are `ec::invalid_config`; the message begins with
/// "file:line:column: " or with the override, and names the nearest known key.
/// A value of a knob that is not built is `ec::unsupported`. A file that is not
/// there is `ec::not_found`.
///
/// Where there are `[[cluster.node]]`s (name, address, actors), `[actors]` is
/// their sum; counts that the file gives all the same must agree with it.
///
/// `also` is asked last, for what only a room above knows (`check_tasks`).
result<config> load_config(const std::filesystem::path& file,
                           std::span<const std::string> overrides = {},
                           config_check also = nullptr);

/// The same for a text that is at hand; `name` stands for it in messages.
result<config> parse_config(std::string_view text, const std::string& name,
                            std::span<const std::string> overrides = {},
                            config_check also = nullptr);

} // namespace swage
