#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/control_channel.hpp"
#include "runtime/verify/rejection.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace swage {

/// What came of a call.
struct outcome {
  category kind = category::ok; ///< `ok`, a runtime error, tampering or infra.
  std::string detail;
  double wall_s = 0; ///< On the trusted side's clock.

  bool ok() const { return kind == category::ok; }
};

/// What a candidate does between two calls.
struct rest {
  outcome came;          ///< Of the request to answer; `ok` if it returned.
  bool returned = false; ///< The last call came back to its caller.
  bool quiet = false;    ///< No thread of it ran, or wanted to, at the end.
  double cpu_s = 0;      ///< CPU time since the last call was reported done.
};

/// One candidate's process. Ends it and waits for its end when destroyed.
/// After an outcome that is not `ok` the process is gone and every later call
/// gives that outcome again.
class sandbox {
public:
  sandbox(sandbox&&) noexcept;
  sandbox& operator=(sandbox&&) noexcept;
  ~sandbox();

  /// Waits until the artifact is loaded, its constructors included. `call`
  /// does it too, within its own time.
  outcome load(double timeout_s);

  /// Calls the kernel on a case that the caller has filled. The outputs are to
  /// be copied or checked at once: what is written after it is deferred work.
  outcome call(uint32_t which, double timeout_s);

  /// Waits until the process rests, `timeout_s` at most. One that does not
  /// answer has had its final outcome.
  rest settle(double timeout_s);

  /// Of the process, in this process's view; to pin it or to read its clock.
  pid_t pid() const;

  /// CPU seconds of the whole process so far.
  double cpu_s() const;

private:
  friend class runner;
  struct impl;
  explicit sandbox(std::unique_ptr<impl> self);
  std::unique_ptr<impl> impl_;
};

struct runner_options {
  std::filesystem::path worker; ///< The `swage-worker` program.
};

/// Client of one `swage-worker`, the warm template that candidates' processes
/// are forked from. Not thread-safe; may be started at any time, with threads
/// running. A worker that died is started again by the next `launch`.
class runner {
public:
  static result<std::unique_ptr<runner>> start(runner_options options);

  ~runner();

  /// Starts a candidate's process on `memory`, which must outlive it. Fails
  /// with `ec::infra` where the worker cannot, after trying a fresh one.
  result<sandbox> launch(const artifact& what, const signature& args,
                         const shared_memory& memory,
                         const sandbox_limits& limits = {});

  /// How candidates are confined on this machine, such as "user, mount, pid,
  /// net, ipc, uts namespaces; seccomp", with what was refused.
  const std::string& confinement() const;

  /// The worker's process; candidates end with it.
  pid_t worker_pid() const;

  /// Times that the worker had to be started again.
  uint64_t restarts() const;

private:
  struct impl;
  explicit runner(std::unique_ptr<impl> self);
  std::unique_ptr<impl> impl_;
};

} // namespace swage
