#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/control.hpp"
#include "runtime/verify/rejection.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <cstdint>

namespace swage {

/// What a sandboxed candidate may use.
struct sandbox_limits {
  uint64_t memory_bytes = uint64_t{1} << 30; ///< Beyond program and data.
  uint32_t cpu_s = 60; ///< CPU time of all its calls together; a backstop.
  int32_t threads = 1; ///< OpenMP team.
};

/// The trusted end of a control file (control.hpp): asks a sandbox for calls
/// and waits for news. The same for every kind of sandbox process.
class control_channel {
public:
  enum class news : uint8_t {
    done,    ///< The newest request is finished.
    fault,   ///< The sandbox recorded why it ends; see `explain`.
    died,    ///< The process is gone without a word.
    timeout, ///< None of these in time.
  };

  /// A control file that describes the job. Request 1, `prepare`, is already
  /// posted; wait for it, then post `load`, then calls.
  static result<control_channel> create(const signature& args,
                                        const shared_memory& memory,
                                        const sandbox_limits& limits);

  control_channel(control_channel&& other) noexcept;
  control_channel& operator=(control_channel&& other) noexcept;
  ~control_channel();

  /// Posts the next request.
  void post(control::request_kind kind, uint32_t which = 0);

  /// Waits for the newest request. `pidfd` (or -1) tells of a sudden death.
  news wait(double timeout_s, int pidfd);

  /// The recorded fault as a category and a sentence, naming tensors by the
  /// signature. Values are the sandbox's own claim and are bounded here; it is
  /// `infra` only as long as nothing foreign was asked to load.
  rejection explain(const signature& args) const;

  /// The file, for the sandbox. Owned by this object.
  int fd() const { return fd_; }

private:
  control_channel(int fd, void* base, uint64_t bytes);

  control::page& page() const { return *static_cast<control::page*>(base_); }

  int fd_ = -1;
  void* base_ = nullptr;
  uint64_t bytes_ = 0;
  uint32_t newest_ = 1;
};

} // namespace swage
