#pragma once

#include "actors/coordinator.hpp"
#include "runtime/observe/event_file.hpp"
#include "runtime/observe/progress.hpp"

#include <filesystem>
#include <mutex>
#include <optional>
#include <span>

namespace swage {

/// What a person sees of a run while it goes on: the progress line on stderr
/// and the TensorBoard events in `metrics/`. Thread-safe.
class reporter {
public:
  /// @param folder The run's; without one, no events are written.
  explicit reporter(const std::filesystem::path& folder);
  ~reporter();

  void on_status(const run_status& status);
  void on_step(const step_report& report);
  void on_drift(const drift_report& report);

private:
  void write(uint64_t step, std::span<const scalar> figures);

  std::mutex mutex_;
  progress lines_;
  std::optional<event_file> events_;
  std::optional<step_report> last_;
  double mean_return_ = 0; ///< Smoothed over some ten steps.
};

} // namespace swage
