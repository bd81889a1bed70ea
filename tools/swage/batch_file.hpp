#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/task.hpp"

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace swage {

/// One candidate of a batch.
struct batch_row {
  std::string id;
  size_t task = 0; ///< Index into the batch's tasks.
  std::string candidate;
};

struct batch {
  std::vector<task> tasks; ///< Each once; not loaded by an engine yet.
  std::vector<batch_row> rows;
};

/// Reads one JSON object a line: `candidate`, the text that a policy or a person
/// wrote; either `task`, a Python file (relative to the batch's folder), or
/// `reference`, a module's text; `id`, by default the line's number. Further
/// fields are ignored. Fails naming file and line, also if an id occurs twice.
result<batch> read_batch(const std::filesystem::path& file,
                         const verifier_config& verifier);

/// The ids of the verdicts in a file; of one that does not exist, none. A later
/// line of an id counts, and a verdict that trying again may change is none. What
/// an interrupted write left of a last line is cut off. Fails naming file and
/// line.
result<std::set<std::string>>
read_judged(const std::filesystem::path& verdicts);

} // namespace swage
