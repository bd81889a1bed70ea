#pragma once

#include "runtime/buffer/rows.hpp"

#include <map>

namespace swage {

/// How far a candidate with this outcome got, for comparison only: nothing to
/// compile < wrong interface < refused by the compiler < ran and died < ran to
/// its end and was not legal < ran to its end with wrong results < ok.
int reach(category outcome);

/// The failed sample that got furthest, the lowest index among equals.
/// @pre At least one sample is not dropped.
const sample_row& furthest(const std::map<uint32_t, sample_row>& samples);

/// The repair item (without its id) of a group that failed at every turn.
item_row make_repair(const item_row& failed, const sample_row& candidate);

} // namespace swage
