#pragma once

#include "runtime/error.hpp"
#include "runtime/store/checkpoint.hpp"

#include <cstdint>
#include <filesystem>

namespace swage {

/// The checkpoint of `step` in a run's folder, checked against its manifest.
/// `not_found` lists the steps that there are.
result<checkpoint_info> find_fork_point(const std::filesystem::path& run,
                                        uint64_t step);

/// Where a run in `folder` keeps the checkpoint that it was forked from.
std::filesystem::path forked_policy(const std::filesystem::path& folder,
                                    const checkpoint_info& from);

/// Copies the checkpoint there, whole or not at all.
result<void> copy_checkpoint(const checkpoint_info& from,
                             const std::filesystem::path& folder);

} // namespace swage
