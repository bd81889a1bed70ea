#include "tools/swage/run_view.hpp"

#include "tools/swage/run_folder.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace swage {

namespace {

bool is_rl(const stage_record& stage) {
  return stage.name.starts_with("rl-");
}

/// Moves a value out of a result, or remembers the first error.
template <class T>
void take(result<T> from, T& to, result<void>& status) {
  if (from)
    to = std::move(*from);
  else if (status)
    status = tl::unexpected{from.error()};
}

eval_column column_of(std::string_view stage_before, const stage_record& stage,
                      const std::vector<sample_record>& samples) {
  eval_column column{eval_title(stage_before), stage.version, {}, {}};
  if (stage.name == "eval-validation")
    column.title += ", validation";
  std::vector<eval_row> rows;
  for (auto& sample : samples) {
    category kind = category::infra_worker;
    from_string(sample.category, kind);
    ++column.outcomes[kind];
    if (!sample.dropped)
      rows.push_back(
        {sample.task, sample.level, sample.success, sample.speedup});
  }
  column.rows = summarise(rows);
  return column;
}

double mean_of_hop(const run_view& run, uint32_t stage, std::string_view hop) {
  for (auto& row : run.hops)
    if (row.stage == stage && row.hop == hop)
      return row.mean;
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<drift_report> drift_in(const run_view& run, uint32_t stage) {
  std::set<uint64_t> steps;
  for (auto& row : run.batches)
    if (row.stage == stage)
      steps.insert(row.step);
  auto out = run.drift;
  std::erase_if(out, [&](auto& row) { return !steps.contains(row.step); });
  return out;
}

double mean_of(const std::vector<drift_report>& rows,
               double drift_report::*field) {
  double sum = 0;
  for (auto& row : rows)
    sum += row.*field;
  return rows.empty() ? std::numeric_limits<double>::quiet_NaN()
                      : sum / static_cast<double>(rows.size());
}

} // namespace

bool is_over(const run_view& run) {
  return run.outline.stages > 0 && run.stages.size() == run.outline.stages
         && std::ranges::all_of(run.stages, &stage_record::over);
}

result<bool> is_finished(const std::filesystem::path& run) {
  auto record = run_record::open(run / "run.db");
  if (!record)
    return tl::unexpected{record.error()};
  run_view view;
  result<void> status;
  take(record->outline(), view.outline, status);
  take(record->stages(), view.stages, status);
  if (!status)
    return tl::unexpected{status.error()};
  return is_over(view) && view.outline.saved;
}

result<run_view> read_run(const std::filesystem::path& run,
                          uint32_t masked_limit) {
  if (auto ok = check_is_run(run); !ok)
    return tl::unexpected{ok.error()};
  auto record = run_record::open(run / "run.db");
  if (!record)
    return tl::unexpected{record.error()};
  run_view view;
  view.running = is_running(run);
  result<void> status;
  take(record->outline(), view.outline, status);
  take(record->stages(), view.stages, status);
  take(record->states(), view.states, status);
  take(record->categories(), view.categories, status);
  take(record->best_kernels(), view.best, status);
  take(record->hops(), view.hops, status);
  take(record->drift(), view.drift, status);
  take(record->masked(masked_limit), view.masked, status);
  take(record->batches(), view.batches, status);
  take(read_evaluations(*record, view.stages), view.evaluations, status);
  if (!status)
    return tl::unexpected{status.error()};
  return view;
}

result<std::vector<eval_column>>
read_evaluations(run_record& record, const std::vector<stage_record>& stages) {
  std::vector<eval_column> columns;
  std::string before;
  for (auto& stage : stages) {
    if (!stage.name.starts_with("eval")) {
      before = stage.name;
      continue;
    }
    auto samples = record.evaluation(stage.index);
    if (!samples)
      return tl::unexpected{samples.error()};
    if (!samples->empty())
      columns.push_back(column_of(before, stage, *samples));
  }
  return columns;
}

std::vector<edge_figures> measured_edges(const run_view& run) {
  if (run.stages.empty())
    return {};
  auto last = std::find_if(run.stages.rbegin(), run.stages.rend(), is_rl);
  auto& stage = last == run.stages.rend() ? run.stages.back() : *last;
  auto seconds = stage.ended_s - stage.begun_s;
  auto rate = [seconds](uint64_t count) -> std::optional<double> {
    if (seconds <= 0)
      return std::nullopt;
    return static_cast<double>(count) / seconds;
  };
  auto items = rate(stage.items), samples = rate(stage.samples),
       batches = rate(stage.committed);
  auto in_flight = mean_of_hop(run, stage.index, "in flight");
  auto total = mean_of_hop(run, stage.index, "total");
  auto reports = drift_in(run, stage.index);
  auto drift = mean_of(reports, &drift_report::mean_abs_p50);
  auto floor = mean_of(reports, &drift_report::floor);
  return {{"buffer", "rollout", "grant", items, {}, {}},
          {"rollout", "pool", "candidate", samples, {}, {}},
          {"pool", "rollout", "verdict", samples, {}, {}},
          {"rollout", "buffer", "submit", samples, in_flight, {}},
          {"buffer", "mirror", "batch", batches, total, {}},
          {"mirror", "rollout", "rescore", {}, {}, floor},
          {"mirror", "learner", "judged", batches, total, drift},
          {"learner", "buffer", "commit", batches, {}, {}},
          {"learner", "publisher", "snapshot", batches, {}, {}}};
}

std::string stage_name(const run_view& run, uint32_t index) {
  auto found = std::ranges::find(run.stages, index, &stage_record::index);
  return found == run.stages.end() ? "?" : found->name;
}

} // namespace swage
