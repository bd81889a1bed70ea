#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/verdict.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace swage {

/// A candidate: what the policy wrote for a task.
struct candidate {
  std::string id;
  std::string response; ///< Whole response text, or a source file's content.
};

/// What an engine needs to know about its machine.
struct engine_options {
  std::filesystem::path worker;     ///< The `swage-worker` program.
  std::filesystem::path python;     ///< With torch; runs the judge and the timing template.
  std::filesystem::path cache;      ///< Build and verdict cache; created if missing.
  std::filesystem::path library;    ///< Folder with our Python and prelude files.
  uint64_t secret = 0;              ///< Seeds of inputs derive from it; 0: from the OS.
  int measure_cpu = -1;             ///< Core to measure on; -1: the last of our set.
  bool cache_verdicts = true;
  bool read_programs = false;       ///< `load` says what a module computes.
  std::string prompt;               ///< Hash of the prompts; part of a verdict's key.
  std::string compiler = "g++";
};

/// Judges candidates: extract, screen, build, run, judge, measure, verdict.
/// One engine owns one judge process, one sandbox template and one timing
/// template; it verifies one candidate at a time and is not thread-safe.
class engine {
public:
  /// Starts the processes. @pre Called before any thread of this process was
  /// started, or with a worker program that can be exec'ed at any time.
  static result<std::unique_ptr<engine>> start(engine_options options);

  virtual ~engine() = default;

  /// Loads a task in the judge and returns it with `args` filled in, or
  /// `task_invalid` with the reason. With `read_programs`, a module whose
  /// operators the table has gets its `program`, so that a policy which was
  /// taught generated tasks is asked for it in the words that it knows.
  virtual result<task> load(const task& what) = 0;

  /// The verdict on one candidate. Never throws for anything that the
  /// candidate does; `stop` abandons it as `infra:worker`.
  virtual verdict verify(const task& what, const candidate& who,
                         std::stop_token stop) = 0;

  /// Called around each measurement: true when it begins, false when it ends.
  /// Set before the first `verify`; used to pause decoding on this node.
  std::function<void(bool)> on_measure;

  /// Called when `verify` begins what may take a second: "compiling",
  /// "testing", "timing". Not if the verdict is known.
  std::function<void(const char* step)> on_step;
};

/// Reward of a verdict (Eq. 2).
struct reward_options {
  double speed_weight = 0.5;     ///< lambda
  double max_speed_bonus = 2;    ///< nu_max
};
double score(const verdict& outcome, const reward_options& options);

/// Feedback for the next turn or a repair: built from the verdict only. Without
/// a round, for a person who has one kernel judged.
std::string feedback_text(const verdict& outcome,
                          std::optional<uint32_t> round = std::nullopt);

} // namespace swage
