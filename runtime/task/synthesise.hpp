#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"

#include <string>
#include <vector>

namespace swage {

/// A kernel in function form that solves a task, and how it was written.
struct solution {
  std::string strategy;
  std::string source;
};

/// Kernels for a generated task by every strategy that gives a different text:
/// "direct" (one loop per operator), "fused" (one pass), "blocked" (for the
/// cache), "threaded" (OpenMP), "vectorised" (explicit SIMD). At least one.
/// They are meant to be right, and taught only after a verifier passed them.
/// Fails with `unsupported` for a task that was not generated, with
/// `invalid_argument` if its program cannot be read.
result<std::vector<solution>> synthesise(const task& what);

} // namespace swage
