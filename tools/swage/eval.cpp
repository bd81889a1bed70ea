#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/observe/report.hpp"
#include "runtime/task/prompt.hpp"
#include "runtime/verify/load_tasks.hpp"
#include "runtime/verify/start_engine.hpp"
#include "tools/swage/activity.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/endpoint.hpp"
#include "tools/swage/option_checks.hpp"
#include "tools/swage/run_tables.hpp"
#include "tools/swage/sampler.hpp"
#include "tools/swage/task_sets.hpp"
#include "tools/swage/taught.hpp"
#include "tools/swage/terminal_progress.hpp"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace swage {

namespace {

struct eval_arguments {
  std::string file, checkpoint, endpoint, model, suite, part = "held-out";
  std::vector<std::string> overrides;
  uint32_t samples = 0; ///< 0: the configuration's.
  bool json = false;
};

result<config> load(const eval_arguments& given) {
  auto file = find_data(given.file, "a configuration file");
  if (!file)
    return tl::unexpected{file.error()};
  auto settings = load_config(*file, given.overrides, check_tasks);
  if (!settings)
    return settings;
  if (given.samples > 0)
    settings->rollout.eval_samples = given.samples;
  if (!given.suite.empty()) {
    auto suite = find_data(given.suite, "the tasks of --tasks");
    if (!suite)
      return tl::unexpected{suite.error()};
    settings->tasks.suite = suite->string();
  }
  if (auto ok = resolve_paths(*settings); !ok)
    return tl::unexpected{ok.error()};
  return settings;
}

result<std::vector<task>> load_tasks(const eval_arguments& given,
                                     const config& settings) {
  auto part = load_part(settings, !given.suite.empty(), given.part);
  if (part && part->empty())
    return fail(ec::invalid_config,
                fmt::format("--part {}: the configuration's [tasks] has no "
                            "such tasks",
                            given.part));
  return part;
}

/// Tasks that cannot be judged are left out and said so.
result<std::vector<task>> load_all(engine& judge,
                                   const std::vector<task>& all) {
  terminal_progress shown{"load", "tasks"};
  shown.update(0, all.size());
  return load_tasks(
    judge, all,
    {[](const task& one, const error& why) {
       log_warning(
         fmt::format("task {} is left out: {}", one.id, why.message));
     },
     [&](size_t done, size_t total) { shown.update(done, total); }});
}

/// What the policy may not know, as far as its run is known.
void warn_of_untaught(const std::vector<task>& tasks,
                      const std::filesystem::path& checkpoint) {
  taught_tasks taught;
  if (!checkpoint.empty())
    if (auto run = config_of_run(checkpoint); run && *run)
      taught = (*run)->tasks;
  if (auto complaint = taught_complaint(tasks, taught))
    log_warning(*complaint);
}

/// The responses of a model that another program serves.
result<std::vector<response>> draw(const endpoint_options& server,
                                   const std::vector<task>& tasks,
                                   const config& settings) {
  if (settings.tasks.prompt == "compact")
    log_warning("tasks.prompt = compact is for policies that were taught it; "
                "--set tasks.prompt=full has instructions");
  std::vector<endpoint_request> requests;
  std::vector<response> all;
  for (size_t i = 0; i < tasks.size(); ++i)
    for (uint32_t index = 0; index < settings.rollout.eval_samples; ++index) {
      auto how = eval_sampling(settings);
      how.seed = sample_seed(how.seed, i, index, 0);
      requests.push_back({render_prompt(tasks[i], settings.tasks.prompt), how});
      all.push_back({i, index, {}});
    }
  terminal_progress shown{"ask", "samples"};
  shown.update(0, requests.size());
  auto texts = ask_endpoint(
    server, requests,
    [&](size_t done, size_t total) { shown.update(done, total); });
  if (!texts)
    return tl::unexpected{texts.error()};
  for (size_t i = 0; i < all.size(); ++i)
    all[i].text = std::move((*texts)[i]);
  return all;
}

result<std::vector<response>> draw(const std::filesystem::path& checkpoint,
                                   const std::vector<task>& tasks,
                                   const config& settings) {
  auto policy = sampler::open(checkpoint, settings);
  if (!policy)
    return tl::unexpected{policy.error()};
  auto& rollout = settings.rollout;
  auto how = eval_sampling(settings);
  std::vector<response> all;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (auto ok = policy->ask(tasks[i], i, rollout.eval_samples, how); !ok) {
      if (ok.error().code != ec::invalid_argument)
        return tl::unexpected{ok.error()};
      // Too long for the policy: empty responses, judged as such.
      log_warning(ok.error().message);
      for (uint32_t index = 0; index < rollout.eval_samples; ++index)
        all.push_back({i, index, {}});
    }
  terminal_progress shown{"decode", "samples"};
  shown.update(0, tasks.size() * rollout.eval_samples - all.size());
  auto decoded = policy->run(
    [&](size_t done, size_t total) { shown.update(done, total); });
  std::ranges::move(decoded, std::back_inserter(all));
  return all;
}

eval_column judge_all(engine& judge, const std::vector<task>& tasks,
                      const std::vector<response>& responses) {
  terminal_progress shown{"verify", "samples"};
  eval_column column{"checkpoint", 0, {}, {}};
  std::vector<eval_row> rows;
  size_t done = 0, cached = 0;
  shown.update(0, responses.size());
  for (auto& one : responses) {
    auto& what = tasks[one.item];
    auto told = judge.verify(
      what, {fmt::format("{}.{}", one.item, one.index), one.text}, {});
    ++column.outcomes[told.kind];
    if (!is_uncharged(told.kind))
      rows.push_back({what.id, what.level, told.ok(), told.speedup});
    cached += told.cached ? 1 : 0;
    shown.update(++done, responses.size(), "", cached);
  }
  column.rows = summarise(rows);
  return column;
}

result<void> check(const eval_arguments& given) {
  if (given.checkpoint.empty() == given.endpoint.empty())
    return fail(ec::invalid_argument,
                "eval needs one of --checkpoint DIR and --endpoint URL");
  if (given.endpoint.empty() != given.model.empty())
    return fail(ec::invalid_argument,
                "--endpoint URL and --model NAME go together");
  return {};
}

/// The key that such servers' clients take from there; most local ones need
/// none.
endpoint_options server_of(const eval_arguments& given) {
  auto* key = std::getenv("OPENAI_API_KEY");
  return {.url = given.endpoint, .model = given.model, .key = key ? key : ""};
}

result<std::unique_ptr<engine>> start_judge(const config& settings) {
  activity doing{"starting the judge"};
  return start_engine(settings.verifier, needs_programs(settings.tasks));
}

int eval(const eval_arguments& given) {
  if (auto ok = check(given); !ok)
    return report(ok.error());
  auto settings = load(given);
  if (!settings)
    return report(settings.error());
  result<checkpoint_info> checkpoint;
  if (given.endpoint.empty())
    checkpoint = find_checkpoint(given.checkpoint);
  else if (auto ok = check_endpoint(server_of(given)); !ok)
    return report(ok.error());
  if (!checkpoint)
    return report(checkpoint.error());
  auto tasks = load_tasks(given, *settings);
  if (!tasks)
    return report(tasks.error());
  // The engine starts its processes before LibTorch starts threads.
  auto judge = start_judge(*settings);
  if (!judge)
    return report(judge.error());
  auto loaded = load_all(**judge, *tasks);
  if (!loaded)
    return report(loaded.error());
  if (needs_programs(settings->tasks))
    warn_of_untaught(*loaded, checkpoint->directory);
  auto responses = given.checkpoint.empty()
                     ? draw(server_of(given), *loaded, *settings)
                     : draw(checkpoint->directory, *loaded, *settings);
  if (!responses)
    return report(responses.error());
  auto column = judge_all(**judge, *loaded, *responses);
  column.title = given.checkpoint.empty()
                   ? given.model
                   : checkpoint->directory.filename().string();
  column.version = checkpoint->step;
  eval_column columns[] = {column};
  if (given.json)
    fmt::print("{}\n", evaluation_json(column));
  else
    fmt::print("{}\n{}", eval_table(columns), outcome_table(columns));
  return column.rows.empty() ? 3 : 0;
}

} // namespace

action add_eval(CLI::App& app) {
  auto given = std::make_shared<eval_arguments>();
  auto* sub = app.add_subcommand("eval",
                                 "Evaluates a checkpoint, or a model on a "
                                 "server, on a set of tasks.");
  sub->footer(exit_statuses);
  sub->add_option("CONFIG", given->file, "The configuration, a TOML file.")
    ->required();
  sub->add_option("--checkpoint", given->checkpoint,
                  "A checkpoint, or the folder of a run: its newest one.");
  sub->add_option("--endpoint", given->endpoint,
                  "An OpenAI-compatible server instead, such as "
                  "http://localhost:8000/v1.");
  sub->add_option("--model", given->model, "The server's name of the model.");
  sub
    ->add_option("--set", given->overrides,
                 "Overrides one knob: table.key=value.")
    ->allow_extra_args(false);
  auto* suite = sub->add_option(
    "--tasks", given->suite,
    "All of a folder or JSON-lines file of KernelBench-style "
    "modules instead of the configuration's tasks.");
  sub->add_option("--part", given->part, "Which set of the configuration.")
    ->check(CLI::IsMember({"train", "validation", "held-out"}))
    ->excludes(suite)
    ->capture_default_str();
  sub
    ->add_option("--samples", given->samples,
                 "Samples per task; default: rollout.eval_samples.")
    ->check(whole_number(1, 1024));
  sub->add_flag("--json", given->json, "Prints one JSON object.");
  return [given] { return eval(*given); };
}

} // namespace swage
