#pragma once

#include "runtime/error.hpp"

#include <CLI/App.hpp>

#include <functional>

namespace swage {

/// What a subcommand does once its options are parsed. Returns the program's
/// exit code: 0 success, 1 the answer is no, 2 wrong use or configuration, 3
/// the system failed, 4 a run stalled.
using action = std::function<int()>;

// Each adds its subcommand and options to `app`.
action add_train(CLI::App& app);
action add_eval(CLI::App& app);
action add_verify(CLI::App& app);
action add_write(CLI::App& app);
action add_tasks(CLI::App& app);
action add_inspect(CLI::App& app);

/// What the help of each subcommand but `train` ends with.
constexpr auto exit_statuses =
  "Exit status: 0 success, 1 the answer is no, 2 wrong use, configuration or "
  "file,\n3 the system failed.";

/// Prints "swage: message" to stderr and returns the exit code that fits.
int report(const error& what);

} // namespace swage
