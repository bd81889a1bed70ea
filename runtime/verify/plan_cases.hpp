#pragma once

#include "runtime/task/task.hpp"
#include "runtime/verify/case_layout.hpp"
#include "runtime/verify/compare.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/judge_client.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swage {

/// The tests of one candidate: `eval.trials` with the task's own inputs, then
/// `eval.stress` with those that are fair for it. Their places are all 0.
std::vector<judge_case> plan_cases(const judged_task& what,
                                   const eval_spec& eval, secret_seeds& seeds);

/// How many of so many cases are in memory at once; at least one.
uint32_t cases_that_fit(const case_layout& layout, size_t count);

/// How far a result of a case may be off.
tolerance tolerance_in(const judge_case& drawn, dtype type,
                       const eval_spec& eval);

} // namespace swage
