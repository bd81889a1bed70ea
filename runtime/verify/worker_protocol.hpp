#pragma once

#include <cstdint>

/// Messages between a runner and its swage-worker, over sequenced-packet Unix
/// sockets: one control socket per worker, one session socket per candidate.
/// Plain data, the same program version on both sides.
namespace swage::worker_protocol {

/// First on the control socket, by the worker: it is ready.
struct hello {
  uint32_t version;
  uint32_t usable;       ///< 0: candidates cannot be confined here.
  char confinement[500]; ///< For a person.
};

inline constexpr uint32_t version = 2;

/// By the runner, with five descriptors: artifact, inputs, data, control,
/// session.
struct launch {
  uint32_t version;
};
inline constexpr int launch_descriptors = 5;

enum class event : uint32_t {
  started, ///< With a pidfd as descriptor.
  ended,   ///< `status` as of waitpid; the last message.
  refused, ///< `status` is an errno; the last message.
};

/// On the session socket, by the worker.
struct report {
  event what;
  int32_t status;
  double cpu_s; ///< Of the whole process, when it ended.
};

} // namespace swage::worker_protocol
