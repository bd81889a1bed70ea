#include "runtime/task/generate.hpp"

#include "runtime/task/draw.hpp"
#include "runtime/task/recipes.hpp"
#include "runtime/task/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

namespace swage {

namespace {

// Per cent of the canonical expressions that each set may draw from. There are
// few expressions of one operator, so axis, kept dimension, rank and memory
// layout belong to the expression: each changes how the kernel must be written.
constexpr uint64_t train_share = 72, validation_share = 12;

// Most draws fall into another set, repeat or have another operator; so many in
// a row, half a second of them, show that there is no other task.
constexpr int most_failures = 300'000;

/// FNV-1a with splitmix64's finaliser: the same on every machine.
uint64_t hash(const std::string& text, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325 ^ seed;
  for (unsigned char c : text)
    h = (h ^ c) * 0x100000001b3;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
  h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
  return h ^ (h >> 31);
}

/// One set while it is filled.
struct filling {
  const char* name;
  uint64_t low, high; ///< Its part of the hash, in per cent.
  bool repeats;       ///< Whether an expression may occur twice.
  std::vector<task>& tasks;
  std::vector<size_t> wanted; ///< By level, from 1.
  std::set<std::string> seen = {};

  bool full() const {
    return std::ranges::all_of(wanted, [](auto n) { return n == 0; });
  }
};

/// Splits `total` by weights; what rounding leaves goes to the first level.
std::vector<size_t> quotas(size_t total, const std::vector<double>& weights) {
  double sum = 0;
  for (auto weight : weights)
    sum += weight;
  std::vector<size_t> counts;
  size_t given = 0;
  for (auto weight : weights) {
    counts.push_back(
      static_cast<size_t>(weight / sum * static_cast<double>(total)));
    given += counts.back();
  }
  auto first = std::ranges::find_if(weights, [](double w) { return w > 0; });
  counts[static_cast<size_t>(first - weights.begin())] += total - given;
  return counts;
}

result<void> check(const tasks_config& tasks) {
  double sum = 0;
  for (auto weight : tasks.level_weights)
    sum += weight < 0 ? -1e9 : weight;
  if (tasks.level_weights.empty() || tasks.level_weights.size() > 3 || sum <= 0)
    return fail(ec::invalid_config,
                "[tasks] level_weights: expected one to three numbers of at "
                "least zero, not all zero");
  for (auto& name : tasks.operators)
    if (auto bad = operator_complaint(name))
      return fail(ec::invalid_config, "tasks.operators: " + *bad);
  return {};
}

/// Blocks of level 3 have operators of their own.
bool allowed(const program& what, const tasks_config& tasks) {
  if (what.level == 2 && what.nodes.size() > tasks.max_operators)
    return false;
  auto& names = tasks.operators;
  auto named = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  return named("all") || what.level >= 3
         || std::ranges::all_of(
           what.nodes, [&](auto& node) { return named(node.row->name); });
}

result<void> fill_set(filling& set, const tasks_config& tasks,
                      const verifier_config& verifier) {
  draw random{hash(set.name, tasks.seed)};
  int failures = 0; // Draws since the last task.
  auto& levels = set.wanted;
  auto total = std::accumulate(levels.begin(), levels.end(), size_t{0});
  while (!set.full()) {
    if (failures++ == most_failures)
      return fail(ec::invalid_config,
                  fmt::format("tasks.{} = {}: only {} such tasks can be "
                              "generated with these tasks.level_weights, "
                              "operators and max_operators; lower it",
                              set.name, total, set.tasks.size()));
    auto level = static_cast<size_t>(
      random.between(0, static_cast<int64_t>(levels.size()) - 1));
    if (levels[level] == 0)
      continue;
    auto what = draw_program(random, static_cast<int>(level) + 1);
    if (!allowed(what, tasks))
      continue;
    auto expression = canonical(what);
    auto at = hash(expression, tasks.seed) % 100;
    if (at < set.low || at >= set.high
        || (!set.repeats && set.seen.contains(expression)))
      continue;
    auto made = make_task(
      what,
      fmt::format("generated/{}/{}/{}", tasks.seed, set.name, set.tasks.size()),
      verifier);
    if (!made)
      return tl::unexpected(made.error());
    set.seen.insert(expression);
    set.tasks.push_back(std::move(*made));
    --levels[level];
    failures = 0;
  }
  return {};
}

} // namespace

eval_spec make_eval_spec(const verifier_config& config) {
  eval_spec spec;
  spec.trials = static_cast<int32_t>(config.trials);
  spec.stress = static_cast<int32_t>(config.stress);
  spec.excessive_speedup = config.excessive_speedup;
  spec.build_timeout_s = config.build_timeout_s;
  spec.run_timeout_s = config.run_timeout_s;
  spec.measure = config.measure;
  spec.timing_pairs = static_cast<int32_t>(config.timing_pairs);
  return spec;
}

result<task> make_task(const program& what, std::string id,
                       const verifier_config& config) {
  task made;
  if (!from_string(config.target, made.on)
      || !from_string(config.form, made.as))
    return fail(
      ec::invalid_config,
      fmt::format("[verifier] target '{}' and form '{}': expected cpu, "
                  "cuda, cuda-host or musa, and function or module",
                  config.target, config.form));
  auto args = signature_of(what);
  if (!args)
    return tl::unexpected(args.error());
  made.id = std::move(id);
  made.level = what.level;
  made.reference = render_reference(what);
  made.eval = make_eval_spec(config);
  for (auto& node : what.nodes)
    if (std::ranges::find(made.tags, node.row->name) == made.tags.end())
      made.tags.push_back(node.row->name);
  made.canonical = canonical(what);
  made.program = serialise(what);
  made.args = std::move(*args);
  return made;
}

result<task_sets> generate_sets(const tasks_config& tasks,
                                const verifier_config& verifier) {
  if (auto checked = check(tasks); !checked)
    return tl::unexpected(checked.error());
  task_sets sets;
  auto split = train_share + validation_share;
  auto& weights = tasks.level_weights;
  filling fillings[] = {
    {"train", 0, train_share, true, sets.train, quotas(tasks.train, weights)},
    {"validation", train_share, split, false, sets.validation,
     quotas(tasks.validation, weights)},
    {"held_out", split, 100, false, sets.held_out,
     quotas(tasks.held_out, weights)},
  };
  for (auto& set : fillings)
    if (auto filled = fill_set(set, tasks, verifier); !filled)
      return tl::unexpected(filled.error());
  return sets;
}

} // namespace swage
