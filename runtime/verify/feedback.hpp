#pragma once

#include "runtime/verify/verdict.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace swage {

/// Bound on the text and on the JSON form of a feedback.
inline constexpr size_t max_feedback_bytes = 2048;

/// Feedback as one JSON object: round, status, category, detail, tests_passed,
/// speedup and hint; bounded like the text. Speedups are as measured, seeds
/// and thresholds are in neither.
std::string feedback_json(const verdict& outcome, uint32_t round);

/// At most `limit` bytes of a text: its middle is left out, with a mark, since
/// the first error and the summary at the end say most. Cuts no UTF-8
/// character in two and replaces control characters other than newline and tab.
std::string shortened(std::string_view text, size_t limit);

} // namespace swage
