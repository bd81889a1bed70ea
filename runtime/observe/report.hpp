#pragma once

#include "runtime/learn/metrics.hpp"
#include "runtime/verify/verdict.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// The outcome of one evaluation of a run.
struct eval_column {
  std::string title; ///< Such as "teaching" or "reinforcement".
  uint64_t version = 0;
  std::vector<eval_summary> rows; ///< Levels ascending, level 0 (all) last.
  std::map<category, uint32_t> outcomes; ///< Samples by category.
};

/// "after teaching", "after reinforcement learning", ... from the stage that
/// came before an evaluation.
std::string eval_title(std::string_view stage_before);

/// Pass@k, Avg@k and Faster Rate per level and evaluation, each in percent
/// with its 95 % interval, and how much they rose from the first evaluation
/// to the last.
std::string eval_table(std::span<const eval_column> columns);

/// Share of samples by category for each evaluation, the most frequent first.
/// `ok` is among them, so that a column sums to 100 %.
std::string outcome_table(std::span<const eval_column> columns);

} // namespace swage
