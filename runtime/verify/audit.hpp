#pragma once

#include "runtime/task/task.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/judge_client.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace swage {

/// How well a task's tests tell its reference from altered ones.
struct task_audit {
  size_t caught = 0;
  size_t stillborn = 0; ///< Did not run, or gave other shapes: not counted.
  std::vector<std::string> survivors; ///< Each passed every test.
  /// Answers without any computing that passed every test, such as "zeros".
  std::vector<std::string> answers;

  size_t counted() const { return caught + survivors.size(); }

  /// Of those that were counted; 1 if there were none.
  double share() const;
};

/// What tasks are audited with.
struct audit_tools {
  judge_client& judge;
  secret_seeds& seeds;
  std::function<void()> on_step; ///< Called now and then; may be empty.
};

/// Alters a task's reference one operator at a time, in at most `most` ways, and
/// tests each as a candidate is tested: with the same number and kinds of inputs
/// and the same tolerance. All get the same inputs and state. So are answers
/// tested that need no computing: zeros, each result's mean, what is right for
/// another input, an input as it is. The reference
/// itself is tested so, too: one that fails depends on earlier calls, and what
/// its mutants fail of would say nothing.
///
/// Errors: `ec::task_invalid` with the reason, or our own fault. A mutant that
/// hangs or ends the judge is stillborn.
result<task_audit> audit_task(const task& what, size_t most,
                              const audit_tools& tools);

} // namespace swage
