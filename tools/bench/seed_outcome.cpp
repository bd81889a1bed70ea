#include "tools/bench/seed_outcome.hpp"

#include "runtime/learn/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace swage::bench {

namespace {

bool is_rl(const stage_record& stage) {
  return stage.name.starts_with("rl-");
}

/// The two evaluations, as indexes into the stages.
struct chosen_stages {
  std::optional<uint32_t> before, after;
};

chosen_stages choose(const std::vector<stage_record>& stages) {
  chosen_stages out;
  bool reinforced = false;
  for (auto& stage : stages) {
    reinforced = reinforced || is_rl(stage);
    if (stage.name == "eval")
      (reinforced ? out.after : out.before) = stage.index;
  }
  return out;
}

result<evaluation> read_evaluation(run_record& record,
                                   const std::vector<stage_record>& stages,
                                   std::optional<uint32_t> index,
                                   const char* when) {
  if (!index)
    return fail(ec::not_found,
                fmt::format("the run has no evaluation {} reinforcement "
                            "learning; run.stages needs an \"eval\" there",
                            when));
  auto samples = record.evaluation(*index);
  if (!samples)
    return tl::unexpected{samples.error()};
  auto out = count_samples(*samples);
  out.version = stages[*index].version;
  return out;
}

result<reinforcement>
read_reinforcement(run_record& record,
                   const std::vector<stage_record>& stages) {
  reinforcement out;
  auto batches = record.batches();
  if (!batches)
    return tl::unexpected{batches.error()};
  for (auto& one : *batches)
    if (one.committed && is_rl(stages[one.stage])) {
      ++out.steps;
      out.samples += one.report.samples;
      out.masked += one.report.samples - one.report.kept;
    }
  auto drift = record.drift();
  auto states = record.states();
  if (!drift || !states)
    return tl::unexpected{(drift ? states.error() : drift.error())};
  uint64_t judged = 0;
  for (auto& one : *drift) {
    out.staleness += one.staleness_mean * one.samples;
    judged += one.samples;
  }
  out.staleness /= static_cast<double>(std::max<uint64_t>(judged, 1));
  for (auto& one : *states)
    if (is_rl(stages[one.stage])) {
      bool flat = one.reason == "no_spread";
      out.without_spread += flat ? one.items : 0;
      out.groups += flat || one.state == "assigned" ? one.items : 0;
    }
  return out;
}

} // namespace

evaluation count_samples(const std::vector<sample_record>& samples) {
  std::map<std::string, task_outcome> tasks;
  evaluation out;
  for (auto& sample : samples) {
    if (sample.dropped)
      continue;
    auto& task = tasks[sample.task];
    task.task = sample.task;
    task.level = sample.level;
    ++task.samples;
    task.successes += sample.success;
    task.faster += sample.success && sample.speedup > faster_than;
    ++out.outcomes[sample.category];
  }
  for (auto& [name, task] : tasks)
    out.tasks.push_back(std::move(task));
  return out;
}

std::vector<stage_time> stage_times(const std::vector<stage_record>& stages) {
  std::vector<double> begins;
  double ended = 0;
  for (auto& stage : stages) {
    begins.push_back(stage.begun_s > 0 ? stage.begun_s : ended);
    ended = std::max(ended, stage.ended_s);
  }
  begins.push_back(ended);
  std::vector<stage_time> out;
  for (size_t i = 0; i < stages.size(); ++i)
    out.push_back({stages[i].name, begins[i + 1] - begins[i]});
  return out;
}

result<bool> is_over(const std::filesystem::path& run, size_t planned) {
  std::error_code failed;
  if (!std::filesystem::exists(run / "run.db", failed))
    return false;
  auto record = run_record::open(run / "run.db");
  if (!record)
    return tl::unexpected{record.error()};
  auto stages = record->stages();
  if (!stages)
    return tl::unexpected{stages.error()};
  return stages->size() == planned
         && std::ranges::all_of(*stages, &stage_record::over);
}

result<seed_outcome> read_seed(const std::filesystem::path& run) {
  auto record = run_record::open(run / "run.db");
  if (!record)
    return tl::unexpected{record.error()};
  auto stages = record->stages();
  if (!stages)
    return tl::unexpected{stages.error()};
  auto chosen = choose(*stages);
  auto before = read_evaluation(*record, *stages, chosen.before, "before");
  if (!before)
    return tl::unexpected{before.error()};
  auto after = read_evaluation(*record, *stages, chosen.after, "after");
  if (!after)
    return tl::unexpected{after.error()};
  auto rl = read_reinforcement(*record, *stages);
  if (!rl)
    return tl::unexpected{rl.error()};
  seed_outcome out;
  out.before = std::move(*before);
  out.after = std::move(*after);
  out.rl = *rl;
  out.stages = stage_times(*stages);
  return out;
}

} // namespace swage::bench
