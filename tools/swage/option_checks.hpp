#pragma once

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>

#include <cstdint>
#include <limits>

namespace swage {

/// Refuses what is not a whole number from `low` to `high`.
CLI::Validator
whole_number(uint64_t low,
             uint64_t high = std::numeric_limits<uint64_t>::max());

/// Refuses what is not a number from `low` to `high`, such as nan.
CLI::Validator number(double low, double high);

/// Refuses an empty text for every option, and says what the option is.
void refuse_empty_values(CLI::App& app);

} // namespace swage
