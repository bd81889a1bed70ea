#include "tools/swage/run_tables.hpp"

#include "runtime/observe/progress.hpp"
#include "runtime/observe/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace swage {

namespace {

std::string number(uint64_t value) {
  return fmt::format("{}", value);
}

std::string figure(double value) {
  return fmt::format("{:.3g}", value);
}

std::string section(std::string_view heading, const std::string& text) {
  return fmt::format("\n{}\n\n{}", heading, text);
}

std::string share_text(uint64_t part, uint64_t whole) {
  return fmt::format("{:.2f} %", 100.0 * static_cast<double>(part)
                                   / static_cast<double>(std::max<uint64_t>(
                                     whole, 1)));
}

std::string speedup_text(double speedup) {
  return speedup > 0 ? fmt::format("{:.2f}x", speedup) : "-";
}

/// At most `count` rows, evenly spaced, first and last among them.
template <class T>
std::vector<const T*> thinned(const std::vector<T>& rows, size_t count) {
  std::vector<const T*> chosen;
  auto n = std::min(count, rows.size());
  for (size_t i = 0; i < n; ++i)
    chosen.push_back(
      &rows[n == 1 ? rows.size() - 1 : i * (rows.size() - 1) / (n - 1)]);
  return chosen;
}

constexpr size_t most_drift_rows = 12;

} // namespace

std::string state_section(const run_view& run) {
  if (is_over(run))
    return "It is over.\n";
  if (run.running)
    return "It goes on.\n";
  return run.outline.ended.empty()
           ? "It was stopped, or its process ended (log/head.log); `swage "
             "train --resume` continues it.\n"
           : fmt::format("Stopped: {}.\n", run.outline.ended);
}

std::string stage_section(const run_view& run) {
  table rows{
    {"stage", "state", "from version", "items", "samples", "batches", "time"}};
  rows.align_left(1);
  for (auto& stage : run.stages) {
    // Fine-tuning draws no samples: it took what its steps did.
    auto seconds = stage.samples > 0 ? stage.ended_s - stage.begun_s
                                     : stage.trained_s;
    auto* state = stage.over ? "over" : run.running ? "goes on" : "stopped";
    rows.add({stage.name, state,
              number(stage.version), number(stage.items), number(stage.samples),
              fmt::format("{}/{}", stage.committed, stage.batches),
              seconds > 0 ? duration_text(seconds) : "-"});
  }
  return section("Stages", rows.text());
}

std::string evaluation_section(const run_view& run) {
  if (run.evaluations.empty())
    return "";
  return section("Evaluations", eval_table(run.evaluations) + "\n"
                                  + outcome_table(run.evaluations));
}

std::string category_section(const run_view& run) {
  if (run.categories.empty())
    return "";
  std::map<uint32_t, uint64_t> totals;
  for (auto& row : run.categories)
    totals[row.stage] += row.samples;
  table rows{{"stage", "category", "samples", "share"}};
  rows.align_left(1);
  for (auto& row : run.categories)
    rows.add(
      {stage_name(run, row.stage), row.category, number(row.samples),
       fmt::format("{:.1f} %", 100.0 * static_cast<double>(row.samples)
                                 / static_cast<double>(totals[row.stage]))});
  return section("Samples by category", rows.text());
}

std::string discard_section(const run_view& run) {
  table rows{{"stage", "reason", "items"}};
  rows.align_left(1);
  bool any = false;
  for (auto& row : run.states)
    if (row.state == "discarded") {
      rows.add({stage_name(run, row.stage), row.reason, number(row.items)});
      any = true;
    }
  return any ? section("Discarded items", rows.text()) : "";
}

std::string hop_section(const run_view& run) {
  std::string text;
  for (auto [unit, heading] :
       {std::pair{"s", "Time by hop, in seconds"},
        {"versions", "Staleness by hop, in versions of the policy"}}) {
    table rows{
      {"stage", "hop", "samples", "mean", "median", "90 %", "most"}};
    rows.align_left(1);
    bool any = false;
    for (auto& row : run.hops)
      if (row.unit == unit) {
        rows.add({stage_name(run, row.stage), row.hop, number(row.samples),
                  figure(row.mean), figure(row.p50), figure(row.p90),
                  figure(row.max)});
        any = true;
      }
    if (any)
      text += section(heading, rows.text());
  }
  return text;
}

std::string drift_section(const run_view& run) {
  if (run.drift.empty())
    return "";
  const bool by_token = std::ranges::any_of(
    run.drift, [](auto& row) { return row.tokens > 0; });
  std::vector<std::string> header = {"step",     "median",   "90 %",
                                     "largest",  "floor",    "bound",
                                     "staleness", "masked +", "masked -",
                                     "masked 0"};
  if (by_token)
    header.insert(header.end(), {"masked tokens", "capped tokens"});
  table rows{header};
  for (auto* row : thinned(run.drift, most_drift_rows)) {
    std::vector<std::string> cells = {
      number(row->step), figure(row->mean_abs_p50), figure(row->mean_abs_p90),
      figure(row->mean_abs_max), figure(row->floor), figure(row->delta),
      figure(row->staleness_mean), number(row->masked_positive),
      number(row->masked_negative), number(row->masked_zero)};
    if (by_token)
      cells.insert(cells.end(), {share_text(row->masked_tokens, row->tokens),
                                 share_text(row->capped_tokens, row->tokens)});
    rows.add(std::move(cells));
  }
  return section("Drift: mean_t |log rho_t| of the samples of a batch, and how "
                 "many were masked by the sign of their advantage",
                 rows.text());
}

std::string mask_section(const run_view& run) {
  if (run.masked.empty())
    return "";
  table rows{{"task", "step", "item", "drift", "bound", "floor", "staleness",
              "return", "category"}};
  rows.align_left(8);
  for (auto& row : run.masked)
    rows.add({row.task, number(row.what.step),
              fmt::format("{}.{}", row.what.item, row.what.index),
              figure(row.what.mean_abs), figure(row.delta),
              figure(row.what.floor), number(row.what.staleness),
              figure(row.ret), row.category});
  return section("Masked samples (learner.seq_mask): drift is mean_t |log "
                 "rho_t|, its bound delta",
                 rows.text());
}

std::string kernel_section(const run_view& run, size_t limit) {
  if (run.best.empty())
    return "";
  std::string text;
  for (size_t i = 0; i < std::min(limit, run.best.size()); ++i)
    text += sample_text(run.best[i]) + '\n';
  return section("Best kernels", text);
}

std::string sample_text(const sample_record& sample) {
  auto text = fmt::format(
    "{} (level {}): {}, {}, reward {:.3g}, version {}, item "
    "{}.{}\n{}",
    sample.task, sample.level, sample.category, speedup_text(sample.speedup),
    sample.score, sample.version, sample.item, sample.index, sample.response);
  if (!text.ends_with('\n'))
    text += '\n';
  return sample.success || sample.detail.empty() ? text
                                                 : text + sample.detail + '\n';
}

} // namespace swage
