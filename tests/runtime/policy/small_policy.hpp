#pragma once

#include "runtime/policy/generator.hpp"
#include "runtime/policy/model_config.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace swage::test {

/// A model small enough for a sanitizer and large enough to be one: head size,
/// widths and vocabulary are no multiples of a vector's length.
model_config small_config();

/// A request whose prompt is a function of `group`.
sequence_request small_request(uint64_t id, uint64_t group);

/// Steps until nothing is pending; outputs by id.
std::map<uint64_t, sequence_output> run_all(generator& from);

} // namespace swage::test
