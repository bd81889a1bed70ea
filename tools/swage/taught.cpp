#include "tools/swage/taught.hpp"

#include "runtime/task/program.hpp"
#include "runtime/task/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace swage {

namespace {

constexpr size_t no_limit = std::numeric_limits<size_t>::max();
constexpr size_t most_named = 8;

/// What a module has and no task had.
struct untaught {
  bool unnamed = false; ///< Operators without a name; the rest is not known.
  std::set<std::string> operators;
  std::set<std::string> constants; ///< Such as "mul_c 3".
  size_t too_many = 0;             ///< Its operators, if no task had so many.

  bool any() const {
    return unnamed || !operators.empty() || !constants.empty() || too_many > 0;
  }
};

bool may_draw(const constant_range& range, double value) {
  constexpr double tolerance = 1e-6;
  auto steps = (value - range.low) / range.step;
  return value > range.low - tolerance && value < range.high + tolerance
         && std::abs(steps - std::round(steps)) < tolerance;
}

/// Blocks of level 3 have as many as they need.
size_t most_operators(const tasks_config& tasks) {
  auto drawn = [&](size_t level) {
    return level <= tasks.level_weights.size()
           && tasks.level_weights[level - 1] > 0;
  };
  if (drawn(3))
    return no_limit;
  return drawn(2) ? tasks.max_operators : 1;
}

void add_constants(const program_node& node, std::set<std::string>& to) {
  auto value = node.constants.begin();
  for (auto& range : node.row->constants)
    if (range.used() && value != node.constants.end()) {
      if (!may_draw(range, *value))
        to.insert(fmt::format("{} {}", node.row->name, constant_text(*value)));
      ++value;
    }
}

untaught look_at(const task& what, const taught_tasks& taught) {
  untaught found;
  auto read = parse_program(what.program);
  if (what.program.empty() || !read) {
    found.unnamed = true;
    return found;
  }
  if (!taught || taught->suite != "generated")
    return found;
  auto& names = taught->operators;
  auto named = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (auto& node : read->nodes) {
    if (!named("all") && !named(node.row->name))
      found.operators.insert(node.row->name);
    add_constants(node, found.constants);
  }
  if (read->nodes.size() > most_operators(*taught))
    found.too_many = read->nodes.size();
  return found;
}

std::string listed(const std::set<std::string>& names) {
  std::vector<std::string> shown{names.begin(), names.end()};
  shown.resize(std::min(shown.size(), most_named));
  if (names.size() > shown.size())
    shown.push_back("...");
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// Of all modules, how many have what, and which.
struct untaught_counts {
  size_t any = 0, unnamed = 0, operators = 0, constants = 0, too_many = 0;
  untaught all;

  void add(const untaught& one) {
    any += one.any();
    unnamed += one.unnamed;
    operators += !one.operators.empty();
    constants += !one.constants.empty();
    too_many += one.too_many > 0;
    all.operators.insert(one.operators.begin(), one.operators.end());
    all.constants.insert(one.constants.begin(), one.constants.end());
  }
};

} // namespace

std::optional<std::string> taught_complaint(const task& what,
                                            const taught_tasks& taught) {
  auto found = look_at(what, taught);
  if (found.unnamed)
    return "the policy was taught tasks of operators that it knows by name, "
           "and this module has others: expect little of it";
  std::vector<std::string> parts;
  if (!found.operators.empty())
    parts.push_back(fmt::format("operators ({})", listed(found.operators)));
  if (found.too_many > 0)
    parts.push_back(fmt::format("{} operators, where {} were the most",
                                found.too_many, most_operators(*taught)));
  if (!found.constants.empty())
    parts.push_back(fmt::format("constants ({})", listed(found.constants)));
  if (parts.empty())
    return std::nullopt;
  return fmt::format("this module has what no task had that the policy was "
                     "taught: {}; expect little of it",
                     fmt::join(parts, ", "));
}

std::optional<std::string> taught_complaint(std::span<const task> all,
                                            const taught_tasks& taught) {
  untaught_counts counts;
  for (auto& one : all)
    counts.add(look_at(one, taught));
  if (counts.any == 0)
    return std::nullopt;
  std::vector<std::string> parts;
  if (counts.unnamed > 0)
    parts.push_back(fmt::format("{} with operators that compact prompts have "
                                "no name for",
                                counts.unnamed));
  if (counts.operators > 0)
    parts.push_back(fmt::format("{} with operators that no taught task had "
                                "({})",
                                counts.operators,
                                listed(counts.all.operators)));
  if (counts.too_many > 0)
    parts.push_back(fmt::format("{} with more than {} operators",
                                counts.too_many, most_operators(*taught)));
  if (counts.constants > 0)
    parts.push_back(fmt::format("{} with constants that none had ({})",
                                counts.constants,
                                listed(counts.all.constants)));
  return fmt::format("{} of {} tasks are unlike those that the policy was "
                     "taught: {}; expect little of it there",
                     counts.any, all.size(), fmt::join(parts, ", "));
}

std::string taught_text(const task& what, const taught_tasks& taught) {
  auto read = parse_program(what.program);
  if (!taught || taught->suite != "generated" || what.program.empty() || !read)
    return "";
  std::vector<std::string> names;
  std::set<std::string> ranges;
  for (auto& node : read->nodes) {
    names.emplace_back(node.row->name);
    for (auto& range : node.row->constants)
      if (range.used())
        ranges.insert(fmt::format("{} from {} to {} in steps of {}",
                                  node.row->name, constant_text(range.low),
                                  constant_text(range.high),
                                  constant_text(range.step)));
  }
  auto most = most_operators(*taught);
  return fmt::format("to the policy this module is {}; it was taught tasks of "
                     "{} of its run's tasks.operators{}{}",
                     fmt::join(names, ", "),
                     most == no_limit ? "any number"
                                      : fmt::format("at most {}", most),
                     ranges.empty() ? "" : ", with constants of ",
                     fmt::join(ranges, " and "));
}

} // namespace swage
