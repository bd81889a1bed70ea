#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace swage {

/// A seed from several numbers, in order: XXH3-64 of their words. Draws of the
/// buffer are functions of such seeds and of what is stored, so that a
/// restart draws what it would have drawn.
uint64_t mix(std::initializer_list<uint64_t> words);

/// A number in [0, 1) from a seed.
double uniform(uint64_t seed);

/// The numbers 0 .. n-1 in an order that depends on the seed only.
std::vector<uint32_t> shuffled(uint64_t seed, uint32_t n);

} // namespace swage
