#pragma once

#include "runtime/descriptor.hpp"
#include "runtime/error.hpp"

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace swage {

/// A process that a worker forked: a handle that cannot hit another process of
/// the same number, and the socket on which its end is reported.
class child {
public:
  child(descriptor pidfd, descriptor session);

  /// In this process's view; 0 once it is gone.
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.value(); }

  void kill();

  /// The status as of waitpid, or nothing if the worker does not report it.
  std::optional<int> await_end(double timeout_s);

  /// CPU time of its life, once `await_end` has a status.
  std::optional<double> total_cpu_s() const { return cpu_s_; }

private:
  descriptor pidfd_;
  descriptor session_;
  pid_t pid_ = 0;
  std::optional<int> status_;
  std::optional<double> cpu_s_;
};

/// A running swage-worker. Ends with this object, or with this process.
class worker_process {
public:
  /// Starts the program and waits until it is ready. `ec::unsupported` where
  /// candidates cannot be confined.
  static result<std::unique_ptr<worker_process>>
  start(const std::filesystem::path& program);

  ~worker_process();

  /// Forks a candidate's process on {artifact, data, control}.
  result<child> launch(std::span<const int> fds);

  const std::string& confinement() const { return confinement_; }
  pid_t pid() const { return pid_; }

private:
  worker_process(pid_t pid, descriptor control);

  pid_t pid_ = -1;
  descriptor control_;
  std::string confinement_;
};

} // namespace swage
