#pragma once

#include "runtime/config/config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// The whole configuration as TOML, every knob with its help line and range
/// as a comment. `load_config` reads it back to an equal configuration.
std::string config_text(const config& settings);

/// What `swage train --help-config` prints: every knob with its default.
std::string config_help();

/// xxh3 of `config_text`: equal where every knob is equal.
uint64_t config_hash(const config& settings);

/// A knob or a node that differs between two configurations.
struct knob_difference {
  std::string path; ///< "table.key", or "cluster.node NAME".
  std::string left, right;
  bool fixed = false; ///< A run cannot be resumed with another value.
};

std::vector<knob_difference> config_differences(const config& left,
                                                const config& right);

} // namespace swage
