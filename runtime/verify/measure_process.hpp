#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/control_channel.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/python_process.hpp"
#include "runtime/verify/rejection.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <tl/expected.hpp>

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <memory>

namespace swage {

/// Seconds, or why there are none.
using timing = tl::expected<double, rejection>;

/// How the task's own module is called.
struct reference_options {
  uint64_t state = 0; ///< Seed of its state.
  int threads = 1;    ///< As many as the candidate has.
};

/// A process that is timed: a reference or a candidate, forked from one and
/// the same warm template (timing_template.py). Ends with this object.
class timed_process {
public:
  static constexpr uint32_t reference_cases = 4;

  /// A candidate on `memory`, which must outlive it.
  static result<std::unique_ptr<timed_process>>
  candidate(python_process& from, const artifact& code, const signature& args,
            const shared_memory& memory, const sandbox_limits& limits);

  /// The task's own module. It reads inputs, and state that changes between
  /// calls, from the first case of `memory`, whose `reference_cases` cases stand for requests, and stores results in
  /// the outputs of `results`.
  static result<std::unique_ptr<timed_process>>
  reference(python_process& from, const judged_task& what,
            const reference_options& how, const shared_memory& memory,
            const shared_memory& results);

  ~timed_process();

  /// Waits until it is confined, with no foreign code in it yet.
  timing confine(double timeout_s);

  /// Loads what is timed, then.
  timing load(double timeout_s);

  /// Makes the inputs and the state of the first case ready. Not part of a call's
  /// time.
  timing prepare(double timeout_s);

  /// Wall time of one call on them, as this side's clock has it.
  timing call(double timeout_s);

  /// The same round trip with nothing in it. A candidate's is its own word.
  timing empty(double timeout_s);

  /// A round trip that only the sandbox's code answers, on either side.
  timing settle(double timeout_s);

  /// A reference writes the result of its last call to where results go.
  timing store(double timeout_s);

  pid_t pid() const { return pid_; }

private:
  timed_process(python_process& from, control_channel channel,
                const signature& args);

  result<void> adopt(int64_t pid);
  timing ask(control::request_kind kind, uint32_t which, double timeout_s);
  timing wait(double timeout_s);
  tl::unexpected<rejection> end_of_process();
  tl::unexpected<rejection> refuse(rejection why) const;

  python_process& from_;
  control_channel channel_;
  signature args_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  double cpu_limit_s_ = std::numeric_limits<double>::infinity();
  bool is_reference_ = false;
  bool confined_ = false;
};

} // namespace swage
