#pragma once

#include "runtime/config/config.hpp"

#include <cstdint>
#include <filesystem>

namespace swage {

struct batch_options {
  std::filesystem::path batch; ///< As `read_batch` has it.
  std::filesystem::path out;   ///< Verdicts are added to it; empty: stdout.
  uint32_t jobs = 0;           ///< Engines at work; 0: one per core.
};

/// Judges each candidate of a batch that has no verdict in `out` yet, and writes
/// a JSON object a line as verdicts come: that of `verdict_json`, with the id
/// first. SIGINT and SIGTERM end it early. Returns the program's exit code: 0 if
/// each candidate has a verdict, 3 if some could not be judged.
int verify_batch(const batch_options& options, const config& settings);

} // namespace swage
