#include "tools/bench/seed_tables.hpp"

#include "runtime/observe/progress.hpp"
#include "runtime/observe/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace swage::bench {

namespace {

constexpr size_t shown_parts = 6;

/// "41.2 (37.0 to 45.4)", in percent.
std::string percent(const estimate& what) {
  return fmt::format("{:.1f} ({:.1f} to {:.1f})", 100 * what.value,
                     100 * what.low, 100 * what.high);
}

std::string points(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

std::string points(const estimate& what) {
  return fmt::format("{:+.1f} ({:+.1f} to {:+.1f})", 100 * what.value,
                     100 * what.low, 100 * what.high);
}

std::vector<std::string> cells(std::string name, const change& what) {
  return {std::move(name), percent(what.before), percent(what.after),
          points(what.gain)};
}

std::set<int32_t> levels_of(std::span<const seed_outcome> all) {
  std::set<int32_t> out;
  for (auto& one : all)
    for (auto& task : one.before.tasks)
      out.insert(task.level);
  return out;
}

uint32_t samples_per_task(std::span<const seed_outcome> all) {
  uint32_t most = 0;
  for (auto& one : all)
    for (auto& task : one.before.tasks)
      most = std::max(most, task.samples);
  return most;
}

double masked_share(const reinforcement& rl) {
  return rl.samples == 0
           ? 0
           : static_cast<double>(rl.masked) / static_cast<double>(rl.samples);
}

/// The first and the last rows; all of them where there are few.
std::string part_table(const char* what, const std::vector<part_change>& parts,
                       const std::map<std::string, std::string>& texts) {
  std::vector<std::string> header = {what, "tasks", "before %", "after %",
                                     "change"};
  if (!texts.empty())
    header.push_back("operations");
  table rows{header};
  if (!texts.empty())
    rows.align_left(header.size() - 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    bool shown = i < shown_parts || i + shown_parts >= parts.size();
    if (!shown && i == shown_parts)
      rows.add({"..."});
    if (!shown)
      continue;
    auto& one = parts[i];
    std::vector<std::string> row = {one.name, fmt::format("{}", one.tasks),
                                    fmt::format("{:.1f}", 100 * one.before),
                                    fmt::format("{:.1f}", 100 * one.after),
                                    points(one.gain())};
    if (auto text = texts.find(one.name); text != texts.end())
      row.push_back(text->second);
    rows.add(std::move(row));
  }
  return rows.text();
}

nlohmann::json in_points(const gain_spread& what) {
  return {{"median", 100 * what.median}, {"min", 100 * what.min}};
}

} // namespace

std::string name_of(metric what, std::span<const seed_outcome> all) {
  auto k = samples_per_task(all);
  switch (what) {
  case metric::avg_at_k:
    return fmt::format("Avg@{}", k);
  case metric::pass_at_k:
    return fmt::format("Pass@{}", k);
  case metric::faster_rate:
    break;
  }
  return "Faster Rate";
}

std::string metric_table(std::span<const seed_outcome> all, metric what) {
  table rows{{name_of(what, all) + " %", "before", "after", "gain, in points"}};
  for (auto& one : all)
    rows.add(cells(fmt::format("seed {}", one.seed), change_of(one, what)));
  auto spread = spread_of(all, what);
  rows.add({"median of the seeds", "", "", points(spread.median)});
  rows.add({"least of the seeds", "", "", points(spread.min)});
  for (auto level : levels_of(all))
    rows.add(cells(fmt::format("level {}, mean", level),
                   mean_change(all, what, level)));
  rows.add(cells("all levels, mean", mean_change(all, what)));
  return rows.text();
}

std::string run_table(std::span<const seed_outcome> all) {
  std::vector<std::string> header = {"run", "RL steps", "masked %",
                                     "without spread %", "staleness"};
  for (auto& stage : all.front().stages)
    header.push_back(stage.name);
  header.push_back("wall");
  table rows{header};
  for (auto& one : all) {
    auto groups = static_cast<double>(std::max<uint64_t>(one.rl.groups, 1));
    std::vector<std::string> row = {
      fmt::format("seed {}", one.seed), fmt::format("{}", one.rl.steps),
      fmt::format("{:.1f}", 100 * masked_share(one.rl)),
      fmt::format("{:.1f}",
                  100 * static_cast<double>(one.rl.without_spread) / groups),
      fmt::format("{:.2f}", one.rl.staleness)};
    for (auto& stage : one.stages)
      row.push_back(duration_text(stage.seconds));
    row.push_back(duration_text(one.wall_s));
    rows.add(std::move(row));
  }
  return rows.text();
}

std::string category_table(std::span<const seed_outcome> all) {
  table rows{{"category", "before %", "after %", "change"}};
  for (auto& one : by_category(all))
    rows.add({one.name, fmt::format("{:.2f}", 100 * one.before),
              fmt::format("{:.2f}", 100 * one.after),
              fmt::format("{:+.2f}", 100 * one.gain())});
  return rows.text();
}

std::string part_tables(std::span<const seed_outcome> all,
                        const task_facts& facts) {
  return part_table("operator", by_tag(all, facts.tags), {}) + "\n"
         + part_table("task", by_task(all), facts.programs);
}

nlohmann::json summary_json(std::span<const seed_outcome> all) {
  nlohmann::json out;
  auto k = samples_per_task(all);
  out[fmt::format("gain_avg_at_{}", k)] = in_points(
    spread_of(all, metric::avg_at_k));
  out[fmt::format("gain_pass_at_{}", k)] = in_points(
    spread_of(all, metric::pass_at_k));
  out["gain_faster_rate"] = in_points(spread_of(all, metric::faster_rate));
  out["evaluation_error"] = 100 * evaluation_error(all, metric::avg_at_k);
  size_t tasks = all.front().before.tasks.size();
  for (auto& one : all) {
    out["seeds"].push_back(one.seed);
    out["wall_s"].push_back(one.wall_s);
    out["rl_steps"].push_back(one.rl.steps);
    out["masked_share"].push_back(masked_share(one.rl));
    tasks = std::min({tasks, one.before.tasks.size(), one.after.tasks.size()});
  }
  out["tasks"] = tasks;
  out["samples_per_task"] = k;
  for (auto what : all_metrics) {
    auto mean = mean_change(all, what);
    auto* key = what == metric::avg_at_k    ? "avg"
                : what == metric::pass_at_k ? "pass"
                                            : "faster";
    out["mean"][key] = {{"before", 100 * mean.before.value},
                        {"after", 100 * mean.after.value},
                        {"gain_low", 100 * mean.gain.low},
                        {"gain_high", 100 * mean.gain.high}};
  }
  return out;
}

} // namespace swage::bench
