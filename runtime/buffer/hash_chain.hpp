#pragma once

#include "runtime/buffer/batch.hpp"

#include <cstdint>
#include <span>

namespace swage {

/// h_0: nothing was trained.
inline constexpr uint64_t chain_start = 0;

/// h_s = H(h_{s-1}, members), H = XXH3-64 over little-endian words: the
/// previous hash, s, the count, then item and index of each member.
/// @pre `members` is sorted by (item, index).
uint64_t chain_next(uint64_t previous, uint64_t step,
                    std::span<const batch_member> members);

/// h_s of a batch that was voided: it keeps its number and trains nothing.
uint64_t chain_void(uint64_t previous, uint64_t step);

/// Order of members in a batch: by (item, index).
bool comes_before(const batch_member& a, const batch_member& b);

} // namespace swage
