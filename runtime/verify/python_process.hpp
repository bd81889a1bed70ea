#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/last_words.hpp"

#include <nlohmann/json_fwd.hpp>

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace swage {

struct python_program {
  std::filesystem::path python;
  std::filesystem::path script;
  std::vector<std::string> arguments; ///< Behind the socket's number.
  double start_timeout_s = 120; ///< Importing torch on a busy machine.
};

/// A trusted Python child that answers requests, one at a time, over a Unix
/// socket: 32-bit little-endian length, JSON, file descriptors with the first
/// byte. Ends with this object; a child that missed a deadline is killed,
/// since its answer would be taken for the next one's. What it prints is told
/// when it dies, and nowhere else.
class python_process {
public:
  /// Spawns the child and returns at once. It may be called with threads
  /// running.
  static result<std::unique_ptr<python_process>>
  start(const python_program& what);

  ~python_process();

  /// Sends a request and waits for its reply, or fails with `ec::timeout`,
  /// `ec::cancelled`, `ec::infra` (it died) or `ec::unsupported` (this Python
  /// does not run the script at all); the process is then gone.
  result<nlohmann::json> ask(const nlohmann::json& request,
                             std::span<const int> fds, double timeout_s,
                             const std::stop_token& stop = {});

  bool alive() const { return pid_ > 0; }

  /// Whether it has died, which `alive` tells only after the next request.
  bool has_died() const;

  /// How it ended if it did so by itself: "exit status 3", "signal 6"; empty
  /// if it was killed, by us or for want of memory.
  std::string own_end() const;
  pid_t pid() const { return pid_; }

  /// CPU seconds of the process and of its children that it waited for.
  double cpu_s() const;

private:
  explicit python_process(python_program what);

  result<void> wait_until_ready(const std::stop_token& stop);
  error lost(ec code, const std::string& why);
  void end();

  python_program what_;
  pid_t pid_ = -1;
  int socket_ = -1;
  int status_ = 0; ///< How it ended.
  last_words words_;
  bool ready_ = false;
};

} // namespace swage
