#pragma once

#include "runtime/config/config.hpp"

#include <filesystem>

namespace swage::bench {

/// A policy that was taught as `settings` say (their stages are replaced by
/// teaching and SFT). Made once and kept in the user's cache folder under a
/// name that depends on the configuration and on the policy's files. Exits
/// with 3 and a message where teaching fails.
std::filesystem::path taught_policy(config settings,
                                    const std::filesystem::path& scratch);

} // namespace swage::bench
