#include "actors/reporter.hpp"

#include "runtime/observe/log.hpp"
#include "runtime/observe/step_metrics.hpp"

#include <fmt/format.h>

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
  if (trains(now.kind))
    event.note = note();
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

std::string reporter::note() const {
  if (!last_)
    return {};
  if (last_->kind == stage_kind::sft)
    return fmt::format("loss {:.3f}", last_->loss);
  return fmt::format("return {:+.2f}, kept {}/{}", mean_return_, last_->kept,
                     last_->samples);
}

} // namespace swage
