#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/observe/table.hpp"
#include "runtime/task/prompt.hpp"
#include "runtime/task/prototype.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/local_engine.hpp"
#include "tools/swage/task_sets.hpp"
#include "tools/swage/tasks_audit.hpp"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <utility>

namespace swage {

namespace {

struct show_arguments {
  std::string file, suite, part = "held-out", id;
  std::vector<std::string> overrides;
  bool json = false;
};

result<config> load(const show_arguments& given) {
  auto settings = given.file.empty()
                    ? parse_config("", "the defaults", given.overrides,
                                   check_tasks)
                    : load_config(given.file, given.overrides, check_tasks);
  if (!settings || given.suite.empty())
    return settings;
  auto suite = find_data(given.suite, "the tasks of --tasks");
  if (!suite)
    return tl::unexpected{suite.error()};
  settings->tasks.suite = suite->string();
  return settings;
}

/// What is listed; to find an id in, every set.
result<std::vector<task>> load_tasks(const show_arguments& given,
                                     const config& settings) {
  if (!given.suite.empty() || given.id.empty())
    return load_part(settings, !given.suite.empty(), given.part);
  auto sets = load_task_sets(settings, log_warning);
  if (!sets)
    return tl::unexpected{sets.error()};
  auto all = std::move(sets->train);
  for (auto* more : {&sets->validation, &sets->held_out})
    all.insert(all.end(), more->begin(), more->end());
  return all;
}

int print_list(const std::vector<task>& all, bool json) {
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (auto& one : all)
      list.push_back({{"id", one.id},
                      {"level", one.level},
                      {"tags", one.tags},
                      {"canonical", one.canonical},
                      {"reference", one.reference}});
    fmt::print("{}\n", nlohmann::ordered_json{{"tasks", list}}.dump());
    return 0;
  }
  table rows{{"task", "level", "operators"}};
  rows.align_left(2);
  for (auto& one : all)
    rows.add({one.id, fmt::format("{}", one.level),
              fmt::format("{}", fmt::join(one.tags, ", "))});
  fmt::print("{}{} tasks\n", rows.text(), all.size());
  return 0;
}

/// A generated task knows its arguments; any other is loaded by an engine.
result<task> with_arguments(const task& what, const config& settings) {
  if (!what.args.outputs.empty())
    return what;
  auto at = judge_one(settings, what, "task " + what.id,
                      needs_programs(settings.tasks));
  if (!at)
    return tl::unexpected{at.error()};
  return std::move(at->what);
}

int print_task(const task& what, const config& settings, bool json) {
  auto whole = with_arguments(what, settings);
  if (!whole)
    return report(whole.error());
  auto prompt = render_prompt(*whole, settings.tasks.prompt);
  auto head = whole->as == form::function ? prototype(whole->args) : "";
  if (json) {
    nlohmann::ordered_json object = {{"id", whole->id},
                                     {"level", whole->level},
                                     {"tags", whole->tags},
                                     {"canonical", whole->canonical},
                                     {"prompt", prompt},
                                     {"prototype", head},
                                     {"reference", whole->reference}};
    fmt::print("{}\n", object.dump());
    return 0;
  }
  fmt::print("task       {}\nlevel      {}\noperators  {}\n\nReference\n\n{}"
             "\n\nPrompt ({})\n\n{}\n",
             whole->id, whole->level, fmt::join(whole->tags, ", "),
             whole->reference, settings.tasks.prompt, prompt);
  if (!head.empty())
    fmt::print("\nPrototype\n\n{}\n", head);
  return 0;
}

int show(const show_arguments& given) {
  auto settings = load(given);
  if (!settings)
    return report(settings.error());
  auto all = load_tasks(given, *settings);
  if (!all)
    return report(all.error());
  if (given.id.empty())
    return print_list(*all, given.json);
  auto one = task_by_id(*all, given.id);
  return one ? print_task(*one, *settings, given.json) : report(one.error());
}

} // namespace

action add_tasks(CLI::App& app) {
  auto given = std::make_shared<show_arguments>();
  auto* sub = app.add_subcommand("tasks", "Shows tasks, or audits them.");
  sub->footer(exit_statuses);
  sub->require_subcommand(1);
  auto* list = sub->add_subcommand("show", "Lists a set of tasks, or shows "
                                           "one of them.");
  list->footer(exit_statuses);
  list->add_option("CONFIG", given->file,
                   "The configuration; default: all defaults.");
  list
    ->add_option("--set", given->overrides,
                 "Overrides one knob: table.key=value.")
    ->allow_extra_args(false);
  auto* suite = list->add_option("--tasks", given->suite,
                                 "All of a folder or JSON-lines file of "
                                 "KernelBench-style modules instead.");
  list->add_option("--part", given->part, "Which set.")
    ->check(CLI::IsMember({"train", "validation", "held-out"}))
    ->excludes(suite)
    ->capture_default_str();
  list->add_option("--id", given->id, "Shows this task whole.");
  list->add_flag("--json", given->json, "Prints one JSON object.");
  return [given, list, audit = add_tasks_audit(*sub)] {
    return list->parsed() ? show(*given) : audit();
  };
}

} // namespace swage
