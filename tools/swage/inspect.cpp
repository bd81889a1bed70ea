#include "runtime/config/knobs.hpp"
#include "runtime/config/load_config.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/option_checks.hpp"
#include "tools/swage/run_folder.hpp"
#include "tools/swage/run_tables.hpp"

#include <CLI/Option.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace swage {

namespace {

struct inspect_arguments {
  std::filesystem::path run;
  std::string task;
  uint32_t limit = 5;
  bool topology = false, json = false;
};

int print_topology(const inspect_arguments& given) {
  auto settings = load_config(given.run / "config.toml");
  if (!settings)
    return report(settings.error());
  auto view = read_run(given.run, 0);
  if (!view)
    return report(view.error());
  auto graph = make_topology(*settings);
  auto figures = measured_edges(*view);
  fmt::print("{}", given.json ? topology_json(graph, figures) + "\n"
                              : topology_text(graph, figures));
  return 0;
}

/// What the task was called, when the name given is not in the run.
int report_unknown_task(const run_view& view, const std::string& task) {
  std::vector<std::string_view> names;
  for (auto& sample : view.best)
    names.push_back(sample.task);
  auto near = nearest(task, names);
  return report(
    {ec::not_found,
     fmt::format("no sample of a task {} in this run{}", task,
                 near.empty() ? "" : "; did you mean " + near + "?")});
}

int print_task(const inspect_arguments& given, const run_view& view) {
  auto record = run_record::open(given.run / "run.db");
  if (!record)
    return report(record.error());
  auto samples = record->samples_of(given.task, given.limit);
  if (!samples)
    return report(samples.error());
  if (samples->empty())
    return report_unknown_task(view, given.task);
  if (given.json) {
    fmt::print("{}\n", samples_json(*samples));
    return 0;
  }
  for (auto& sample : *samples)
    fmt::print("{}\n", sample_text(sample));
  return 0;
}

int inspect(const inspect_arguments& given) {
  if (auto ok = check_is_run(given.run); !ok)
    return report(ok.error());
  if (given.topology)
    return print_topology(given);
  auto view = read_run(given.run, given.limit);
  if (!view)
    return report(view.error());
  if (!given.task.empty())
    return print_task(given, *view);
  if (given.json) {
    fmt::print("{}\n", run_json(*view, given.limit));
    return 0;
  }
  fmt::print("Run {}\n", given.run.string());
  for (auto section :
       {state_section, stage_section, evaluation_section, category_section,
        discard_section, hop_section, drift_section, mask_section})
    fmt::print("{}", section(*view));
  fmt::print("{}", kernel_section(*view, given.limit));
  return 0;
}

} // namespace

action add_inspect(CLI::App& app) {
  auto given = std::make_shared<inspect_arguments>();
  auto* sub = app.add_subcommand(
    "inspect", "Shows what happened in a run, also while it goes on.");
  sub->footer(std::string{"A reward is one response's; a return, which is "
                          "trained on, is a sample's with all\nits turns.\n\n"}
              + exit_statuses);
  sub->add_option("RUN_DIR", given->run, "The run's folder.")->required();
  auto* topology = sub->add_flag(
    "--topology", given->topology,
    "Draws the actor graph with what was measured on its "
    "edges.");
  sub->add_option("--task", given->task, "Shows samples of this task only.")
    ->excludes(topology);
  sub
    ->add_option("--limit", given->limit,
                 "Most rows of each: best kernels (one a task, the fastest "
                 "first), masked samples (the newest step first, then the "
                 "farthest drifted); with --task, its samples (the newest "
                 "first).")
    ->check(whole_number(1, 100'000))
    ->capture_default_str();
  sub->add_flag("--json", given->json, "Prints one JSON object.");
  return [given] { return inspect(*given); };
}

} // namespace swage
