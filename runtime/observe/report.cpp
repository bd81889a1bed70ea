#include "runtime/observe/report.hpp"

#include "runtime/observe/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

/// "41.2 (37.0-45.4)".
std::string percent(const share& what) {
  return fmt::format("{:.1f} ({:.1f}-{:.1f})", 100 * what.value, 100 * what.low,
                     100 * what.high);
}

std::string level_name(int32_t level) {
  return level == 0 ? "all" : fmt::format("{}", level);
}

uint32_t samples_of(const eval_column& column) {
  uint32_t sum = 0;
  for (auto& [kind, count] : column.outcomes)
    sum += count;
  return sum;
}

const eval_summary* overall(const eval_column& column) {
  auto found = std::ranges::find(column.rows, 0, &eval_summary::level);
  return found == column.rows.end() ? nullptr : &*found;
}

std::string gain_text(const eval_column& first, const eval_column& last) {
  auto *a = overall(first), *b = overall(last);
  if (!a || !b)
    return "";
  auto points = [](const share& from, const share& to) {
    return fmt::format("{:+.1f}", 100 * (to.value - from.value));
  };
  return fmt::format("\nFrom {} to {}, in points: Pass@{} {}, Avg@{} {}, "
                     "Faster Rate {}.\n",
                     first.title, last.title, b->samples_per_task,
                     points(a->pass_at_k, b->pass_at_k), b->samples_per_task,
                     points(a->avg_at_k, b->avg_at_k),
                     points(a->faster_rate, b->faster_rate));
}

} // namespace

std::string eval_title(std::string_view stage_before) {
  if (stage_before == "sft" || stage_before == "teach")
    return "after teaching";
  if (stage_before == "rft")
    return "after rejection sampling";
  if (stage_before == "rl-single" || stage_before == "rl-multi")
    return "after reinforcement learning";
  return "at the start";
}

std::string eval_table(std::span<const eval_column> columns) {
  uint32_t k = 0;
  for (auto& column : columns)
    for (auto& row : column.rows)
      k = std::max(k, row.samples_per_task);
  table rows{{"evaluation", "version", "level", "tasks", "samples",
              fmt::format("Pass@{} %", k), fmt::format("Avg@{} %", k),
              "Faster Rate %"}};
  for (auto& column : columns)
    for (auto& row : column.rows)
      rows.add({column.title, fmt::format("{}", column.version),
                level_name(row.level), fmt::format("{}", row.tasks),
                fmt::format("{}", row.samples), percent(row.pass_at_k),
                percent(row.avg_at_k), percent(row.faster_rate)});
  auto text = rows.text();
  text += fmt::format("In brackets: 95 % intervals. Faster Rate: share of all "
                      "samples that are correct, legal and above {}x eager.\n",
                      faster_than);
  return columns.size() < 2 ? text
                            : text + gain_text(columns.front(), columns.back());
}

std::string outcome_table(std::span<const eval_column> columns) {
  std::vector<std::string> header = {"category"};
  std::map<category, uint32_t> totals;
  for (auto& column : columns) {
    header.push_back(column.title);
    for (auto& [kind, count] : column.outcomes)
      totals[kind] += count;
  }
  std::vector<std::pair<category, uint32_t>> order{totals.begin(),
                                                   totals.end()};
  std::ranges::stable_sort(order, std::ranges::greater{},
                           &std::pair<category, uint32_t>::second);
  table rows{header};
  for (auto& [kind, total] : order) {
    std::vector<std::string> cells = {to_string(kind)};
    for (auto& column : columns) {
      auto found = column.outcomes.find(kind);
      auto count = found == column.outcomes.end() ? 0 : found->second;
      cells.push_back(
        fmt::format("{} ({:.1f} %)", count,
                    100.0 * count / std::max(1u, samples_of(column))));
    }
    rows.add(std::move(cells));
  }
  return rows.text();
}

} // namespace swage
