#include "actors/reporter.hpp"

#include "runtime/observe/log.hpp"
#include "runtime/observe/step_metrics.hpp"

#include <chrono>

namespace swage {

namespace {

double wall_clock_s() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

double steady_s() {
  return std::chrono::duration<double>(
           std::chrono::steady_clock::now().time_since_epoch())
    .count();
}

bool trains(stage_kind kind) {
  return kind == stage_kind::sft || kind == stage_kind::rl_single
         || kind == stage_kind::rl_multi;
}

} // namespace

reporter::reporter(const std::filesystem::path& folder)
  : lines_({.terminal = stderr_is_terminal()}) {
  if (folder.empty())
    return;
  auto made = event_file::create(folder / "metrics", wall_clock_s());
  if (made)
    events_.emplace(std::move(*made));
  else
    log_warning("no metrics are written: " + made.error().message);
}

reporter::~reporter() {
  auto rest = lines_.finish();
  if (!rest.empty())
    write_stderr(rest);
}

void reporter::on_status(const run_status& status) {
  std::lock_guard lock{mutex_};
  auto& now = status.buffer.progress;
  if (now.over)
    return;
  progress_event event;
  event.stage = now.name;
  event.done = now.done;
  event.total = now.total;
  event.unit = trains(now.kind) ? "steps" : "tasks";
  if (trains(now.kind) && last_)
    event.note = step_note(*last_, now, mean_return_);
  if (auto text = lines_.update(event, steady_s()))
    write_stderr(*text, stderr_is_terminal());
}

void reporter::on_step(const step_report& report) {
  std::lock_guard lock{mutex_};
  const auto same = last_ && last_->kind == report.kind;
  mean_return_ = same ? 0.9 * mean_return_ + 0.1 * report.mean_return
                      : report.mean_return;
  last_ = report;
  write(report.step, step_scalars(report));
}

void reporter::on_drift(const drift_report& report) {
  std::lock_guard lock{mutex_};
  write(report.step, drift_scalars(report));
}

void reporter::write(uint64_t step, std::span<const scalar> figures) {
  if (!events_)
    return;
  if (auto written = events_->write(step, wall_clock_s(), figures); !written) {
    log_warning("no more metrics are written: " + written.error().message);
    events_.reset();
  }
}

} // namespace swage
