#pragma once

#include "runtime/buffer/trajectory.hpp"
#include "runtime/error.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace swage {

/// A trajectory as bytes: a format number, then fields in order of their
/// declaration; integers as LEB128, reals as little-endian IEEE.
std::vector<std::byte> encode(const trajectory& what);

/// The inverse, or `corrupt` with the offset of what did not fit.
result<trajectory> decode(std::span<const std::byte> bytes);

} // namespace swage
