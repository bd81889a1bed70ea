#pragma once

#include <cstdint>
#include <filesystem>

namespace swage::bench {

/// A hash of `program`, of the worker and the sandbox beside it, and of what
/// the verifier reads at run time: results of another build are not these.
uint64_t hash_of_build(const std::filesystem::path& program);

} // namespace swage::bench
