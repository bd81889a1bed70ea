#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/measure_statistics.hpp"
#include "runtime/verify/verdict.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace swage {

/// What timing one candidate came to.
struct measurement {
  category kind = category::infra_measurement; ///< `ok` if there are times.
  std::string detail;
  timing_summary times;
  uint32_t pairs = 0;
  double wall_s = 0; ///< All of it.
  double held_s = 0; ///< Of that, while the machine's slot was held.

  bool ok() const { return kind == category::ok; }
};

struct measure_options {
  std::filesystem::path python;
  std::filesystem::path library;         ///< Folder of timing_template.py.
  std::filesystem::path sandbox_library; ///< libswage_sandbox.so
  std::filesystem::path lock;            ///< One file per machine.
  int core = -1;                         ///< -1: the last usable one.
};

/// Times candidates against the task's own module: both in processes of one
/// template, on the same cores, in turn, in random order, each pair on inputs
/// that no earlier one has seen and that are in no cache; the clock is this
/// side's. The two sides of a pair share their inputs only where those cannot
/// be mixed. Each call also gets a state that no other had.
///
/// A candidate can tell that it is timed: its process has Python in it, one that
/// is tested has not. So the timed calls are tests themselves. What candidates
/// write is compared with what the reference gives for the same inputs and
/// state, for a secret choice of the calls; and among them, at secret places,
/// are calls with stress inputs, all of which are compared. Who is wrong in as
/// many calls as move the median, and guesses which are looked at, passes once in
/// sixteen times; once in four times who is wrong for stress inputs only.
/// One thread at a time.
class measurer {
public:
  /// Starts the template, which is ready some seconds later.
  static result<std::unique_ptr<measurer>> start(measure_options options);

  ~measurer();

  /// Called when the machine's slot was taken, and when it is given back.
  std::function<void(bool)> on_measure;

  measurement measure(const judged_task& what, const eval_spec& eval,
                      const artifact& code, judge_client& judge,
                      secret_seeds& seeds, const std::stop_token& stop);

  /// Times one artifact against another, as a check of the instrument itself:
  /// `reference` takes the module's place. Results are not compared.
  measurement compare(const judged_task& what, const eval_spec& eval,
                      const artifact& reference, const artifact& candidate,
                      judge_client& judge, secret_seeds& seeds,
                      const std::stop_token& stop);

  /// CPU seconds of the template and of what it forked.
  double cpu_s() const;

private:
  struct impl;
  explicit measurer(std::unique_ptr<impl> self);
  std::unique_ptr<impl> impl_;
};

} // namespace swage
