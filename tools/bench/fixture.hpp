#pragma once

#include "runtime/task/task.hpp"
#include "runtime/verify/engine.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

/// What the benchmarks of the verifier share.
namespace swage::bench {

using steady = std::chrono::steady_clock;

inline double since(steady::time_point start) {
  return std::chrono::duration<double>(steady::now() - start).count();
}

/// A folder under the system's temporary one, removed at the end.
struct scratch {
  std::filesystem::path path;

  scratch();
  ~scratch();
};

/// Where this program's neighbours are: SWAGE_BIN or its own folder,
/// SWAGE_PYTHON, and the sources under the current folder. Exits with 2 and a
/// message where something is missing.
engine_options options_in(const std::filesystem::path& cache);

/// The value, or an exit with 3 and its error.
template <class T>
T value_or_exit(result<T> made);

[[noreturn]] void give_up(int status, const std::string& message);

/// A module of the usual size: 64 x 1024 elements, two operators, one
/// parameter.
task usual_task();

/// A right kernel for it; each number gives other source text.
std::string usual_kernel(uint64_t number);

/// CPU seconds of this process and all that descend from it.
double cpu_of_all();

/// Whether `name` is among the arguments; exits with 2 for any other.
bool has_flag(int argc, char** argv, const std::string& name);

template <class T>
T value_or_exit(result<T> made) {
  if (!made)
    give_up(3, made.error().message);
  return std::move(*made);
}

} // namespace swage::bench
