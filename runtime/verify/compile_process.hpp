#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// A compiler run, confined by `swage-worker compile`. The compiler works in an
/// empty folder, reads `source` from its standard input, and leaves what it
/// made in the file `out`.
struct compile_request {
  std::filesystem::path worker;
  std::vector<std::string> command;
  std::vector<std::string>
    visible; ///< Paths it may read; nothing else is there.
  std::string_view source;
  /// Where the folder is made if the machine grants no private one.
  std::filesystem::path scratch;
  double timeout_s = 30;
  uint64_t memory_bytes = uint64_t{2} << 30;
  std::stop_token stop;
};

struct compile_outcome {
  int code = 0; ///< Exit status; 128 + n for signal n.
  bool timed_out = false;
  bool stopped = false;
  std::string output; ///< Content of `out`; empty if there is none.
  std::string errors; ///< The first 64 KiB of what it said.
  double wall_s = 0;
  double cpu_s = 0; ///< Of all its processes.
};

/// Exit status of `swage-worker compile` where the compiler never ran.
inline constexpr int compile_could_not_run = 125;

/// Runs it to its end, its timeout or the stop, and leaves no process behind.
/// Fails with `ec::infra` where it cannot be started.
result<compile_outcome> run_compiler(const compile_request& what);

} // namespace swage
