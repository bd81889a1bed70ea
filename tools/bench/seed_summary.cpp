#include "tools/bench/seed_summary.hpp"

#include <algorithm>

namespace swage::bench {

namespace {

/// Any number: with it, the same runs give the same intervals.
constexpr uint64_t bootstrap_seed = 20'240'607;

std::vector<task_outcome> of_level(const evaluation& from, int32_t level) {
  std::vector<task_outcome> out;
  for (auto& one : from.tasks)
    if (level == 0 || one.level == level)
      out.push_back(one);
  return out;
}

/// Values of the tasks that all evaluations have, averaged over the seeds.
struct paired_values {
  std::vector<std::string> tasks;
  std::vector<double> before, after;
};

paired_values average(std::span<const seed_outcome> all, metric what,
                      int32_t level) {
  struct sums {
    double before = 0, after = 0;
    size_t seeds_before = 0, seeds_after = 0;
  };
  std::map<std::string, sums> found;
  for (auto& one : all) {
    for (auto& task : of_level(one.before, level)) {
      found[task.task].before += value_of(task, what);
      ++found[task.task].seeds_before;
    }
    for (auto& task : of_level(one.after, level)) {
      found[task.task].after += value_of(task, what);
      ++found[task.task].seeds_after;
    }
  }
  paired_values out;
  auto n = static_cast<double>(all.size());
  for (auto& [task, sum] : found)
    if (sum.seeds_before == all.size() && sum.seeds_after == all.size()) {
      out.tasks.push_back(task);
      out.before.push_back(sum.before / n);
      out.after.push_back(sum.after / n);
    }
  return out;
}

std::vector<part_change> most_gained_first(std::vector<part_change> parts) {
  std::ranges::stable_sort(
    parts, [](auto& a, auto& b) { return a.gain() > b.gain(); });
  return parts;
}

uint64_t samples_of(const evaluation& one) {
  uint64_t sum = 0;
  for (auto& [category, count] : one.outcomes)
    sum += count;
  return sum;
}

} // namespace

change change_of(const seed_outcome& one, metric what, int32_t level) {
  return mean_change({&one, 1}, what, level);
}

change mean_change(std::span<const seed_outcome> all, metric what,
                   int32_t level) {
  auto values = average(all, what, level);
  std::vector<double> gains;
  for (size_t i = 0; i < values.tasks.size(); ++i)
    gains.push_back(values.after[i] - values.before[i]);
  return {bootstrap_mean(values.before, bootstrap_seed),
          bootstrap_mean(values.after, bootstrap_seed),
          bootstrap_mean(gains, bootstrap_seed)};
}

gain_spread spread_of(std::span<const seed_outcome> all, metric what) {
  std::vector<double> gains;
  for (auto& one : all)
    gains.push_back(change_of(one, what).gain.value);
  return {median(gains), least(gains)};
}

double evaluation_error(std::span<const seed_outcome> all, metric what) {
  std::vector<double> errors;
  for (auto& one : all)
    for (auto* side : {&one.before, &one.after})
      errors.push_back(sampling_error(side->tasks, what));
  return root_mean_square(errors);
}

claim judge(std::span<const seed_outcome> all) {
  auto avg = spread_of(all, metric::avg_at_k);
  return {avg.median >= 0.1,
          avg.min<-evaluation_error(all, metric::avg_at_k),
                  spread_of(all, metric::pass_at_k).median >= 0,
                  spread_of(all, metric::faster_rate).median> 0};
}

std::vector<part_change> by_task(std::span<const seed_outcome> all) {
  auto values = average(all, metric::avg_at_k, 0);
  std::vector<part_change> out;
  for (size_t i = 0; i < values.tasks.size(); ++i)
    out.push_back({values.tasks[i], 1, values.before[i], values.after[i]});
  return most_gained_first(std::move(out));
}

std::vector<part_change>
by_tag(std::span<const seed_outcome> all,
       const std::map<std::string, std::vector<std::string>>& tags) {
  std::map<std::string, part_change> found;
  for (auto& task : by_task(all)) {
    auto own = tags.find(task.name);
    if (own == tags.end())
      continue;
    for (auto& tag : own->second) {
      auto& part = found[tag];
      part.name = tag;
      ++part.tasks;
      part.before += task.before;
      part.after += task.after;
    }
  }
  std::vector<part_change> out;
  for (auto& [tag, part] : found) {
    auto n = static_cast<double>(part.tasks);
    out.push_back({tag, part.tasks, part.before / n, part.after / n});
  }
  return most_gained_first(std::move(out));
}

std::vector<part_change> by_category(std::span<const seed_outcome> all) {
  std::map<std::string, part_change> found;
  auto n = static_cast<double>(all.size());
  auto add = [&](const evaluation& from, double part_change::*side) {
    auto samples = static_cast<double>(samples_of(from));
    for (auto& [category, count] : from.outcomes) {
      found[category].name = category;
      found[category].*side += static_cast<double>(count) / samples / n;
    }
  };
  for (auto& one : all) {
    add(one.before, &part_change::before);
    add(one.after, &part_change::after);
  }
  std::vector<part_change> out;
  for (auto& [category, part] : found)
    out.push_back(part);
  std::ranges::stable_sort(out, [](auto& a, auto& b) {
    return std::max(a.before, a.after) > std::max(b.before, b.after);
  });
  return out;
}

} // namespace swage::bench
