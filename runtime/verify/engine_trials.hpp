#pragma once

#include "runtime/task/task.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/runner.hpp"
#include "runtime/verify/verdict.hpp"

#include <optional>
#include <stop_token>
#include <string>

namespace swage {

/// What the tests of one candidate came to.
struct trial_outcome {
  category kind = category::infra_worker;
  std::string detail;
  double pass_fraction = 0;
  double run_s = 0; ///< Wall time, judge included.

  bool ok() const { return kind == category::ok; }
};

/// Memory that the next candidate of the same task is tried in, too: every
/// process that saw it has ended, and what is in it is written anew.
struct trial_memory {
  std::string key; ///< Of the task; empty: there is none.
  std::optional<shared_memory> cases;
  std::optional<shared_memory> expected; ///< No sandbox ever sees it.
};

/// What a candidate is tried with.
struct trial_tools {
  judge_client& judge;
  runner& worker;
  secret_seeds& seeds;
  trial_memory& memory;
};

/// Runs a candidate on fresh inputs, and again on one of them, and on one that
/// only begins like it; judges what it wrote. The candidate's calls come
/// first, what is right is computed after them, where it cannot see it.
///
/// In this order: tampering, a runtime error, work after the return, a wrong
/// result, a replayed one. A wrong result is called a replay only if it is, bit
/// for bit, what the candidate rightly gave for another input.
trial_outcome try_candidate(const judged_task& what, const eval_spec& eval,
                            const artifact& code, const trial_tools& tools,
                            const std::stop_token& stop);

} // namespace swage
