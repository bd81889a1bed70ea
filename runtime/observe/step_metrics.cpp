#include "runtime/observe/step_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

double share_of(uint64_t part, uint64_t whole) {
  return static_cast<double>(part)
         / static_cast<double>(std::max<uint64_t>(1, whole));
}

} // namespace

std::vector<scalar> step_scalars(const step_report& report) {
  auto busy = report.train_s + report.publish_s;
  auto whole = busy + report.wait_s;
  std::vector<scalar> out{
    {"learner/loss", report.loss},
    {"learner/grad_norm", report.grad_norm},
    {"learner/lr", report.lr},
    {"learner/clip_ratio", report.clip_fraction},
    {"learner/entropy", report.entropy},
    {"learner/stepped", report.stepped ? 1.0 : 0.0},
    {"learner/kept_fraction", share_of(report.kept, report.samples)},
    {"reward/all/mean", report.mean_return},
    {"offpolicy/mean_abs_log_ratio", report.mean_abs_log_ratio},
    {"time/wait_for_batch", report.wait_s},
    {"time/forward_backward", report.train_s},
    {"time/weight_sync", report.publish_s},
    {"perf/samples", static_cast<double>(report.samples)},
    {"perf/tokens", static_cast<double>(report.tokens)},
    {"perf/throughput",
     whole > 0 ? static_cast<double>(report.tokens) / whole : 0.0},
    {"perf/trainer_idle_ratio", whole > 0 ? report.wait_s / whole : 0.0},
  };
  if (report.floor_tokens > 0)
    out.push_back({"offpolicy/learner_floor", report.floor});
  return out;
}

std::string step_note(const step_report& last, const buffer_progress& now,
                      double mean_return) {
  const auto before = now.last_committed - std::min(now.done,
                                                    now.last_committed);
  if (last.kind != now.kind || last.step <= before)
    return {};
  if (last.kind == stage_kind::sft)
    return fmt::format("loss {:.3f}", last.loss);
  return fmt::format("return {:+.2f}, kept {}/{}", mean_return, last.kept,
                     last.samples);
}

std::vector<scalar> drift_scalars(const drift_report& report) {
  auto masked = report.masked_positive + report.masked_negative
                + report.masked_zero;
  return {
    {"staleness/mean", report.staleness_mean},
    {"staleness/max", static_cast<double>(report.staleness_max)},
    {"offpolicy/drift_p50", report.mean_abs_p50},
    {"offpolicy/drift_p90", report.mean_abs_p90},
    {"offpolicy/drift_max", report.mean_abs_max},
    {"offpolicy/drift_signed_p50", report.mean_signed_p50},
    {"offpolicy/floor", report.floor},
    {"offpolicy/lag", std::max(0.0, report.mean_abs_p50 - report.floor)},
    {"offpolicy/delta", report.delta},
    {"offpolicy/seq_masked_fraction", share_of(masked, report.samples)},
    {"offpolicy/token_masked_fraction",
     share_of(report.masked_tokens, report.tokens)},
    {"offpolicy/token_capped_fraction",
     share_of(report.capped_tokens, report.tokens)},
    {"offpolicy/masked_advantage_positive",
     share_of(report.masked_positive, report.samples)},
    {"offpolicy/masked_advantage_negative",
     share_of(report.masked_negative, report.samples)},
  };
}

} // namespace swage
