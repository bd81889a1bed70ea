#include "runtime/config/built.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/task/prototype.hpp"
#include "runtime/task/suite.hpp"
#include "runtime/task/text_file.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/local_engine.hpp"
#include "tools/swage/option_checks.hpp"
#include "tools/swage/verdict_text.hpp"
#include "tools/swage/verify_batch.hpp"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace swage {

namespace {

struct verify_arguments {
  std::string task, candidate, target, form, batch, out;
  std::vector<std::string> overrides;
  uint32_t jobs = 0; ///< 0: one per core.
  bool json = false, no_measure = false, print_signature = false;
};

int print_signature(const task& what, bool json) {
  auto text = what.as == form::function
                ? prototype(what.args)
                : "class ModelNew(torch.nn.Module)  # __init__ and forward as "
                  "in Model";
  fmt::print("{}\n", json ? nlohmann::json{{"signature", text}}.dump() : text);
  return 0;
}

/// The defaults and what was said about them.
result<config> load(const verify_arguments& given) {
  for (auto& one : given.overrides)
    if (!one.starts_with("verifier.") && !one.starts_with("reward."))
      return fail(ec::invalid_argument,
                  fmt::format("--set {}: expected a knob of [verifier] or "
                              "[reward], which are all that verify reads",
                              one));
  auto settings = parse_config("", "the defaults", given.overrides);
  if (!settings)
    return settings;
  auto& how = settings->verifier;
  how.measure = how.measure && !given.no_measure;
  how.target = given.target.empty() ? how.target : given.target;
  how.form = given.form.empty() ? how.form : given.form;
  for (auto built : {check_built("verifier.target", how.target),
                     check_built("verifier.form", how.form)})
    if (!built)
      return tl::unexpected{built.error()};
  return settings;
}

/// What is too fast to be believed is for a person to say. Candidates are not
/// told where the bound is, so this is no part of the verdict.
void print_bound(const config& settings) {
  fmt::print(stderr,
             "swage: more than verifier.excessive_speedup = {} is refused; if "
             "the kernel does its work, allow more with --set "
             "verifier.excessive_speedup=NUMBER\n",
             settings.verifier.excessive_speedup);
}

int print_verdict(const verdict& outcome, const config& settings, bool json) {
  auto reward = score(outcome, make_reward_options(settings.reward));
  if (outcome.kind == category::cheating_excessive_speedup)
    print_bound(settings);
  if (json)
    fmt::print("{}\n", verdict_json(outcome, reward));
  else
    fmt::print("{}\n{}\n", verdict_lines(outcome, reward),
               feedback_text(outcome));
  return verdict_exit_code(outcome);
}

int verify(const verify_arguments& given) {
  auto settings = load(given);
  if (!settings)
    return report(settings.error());
  if (given.task.empty() == given.batch.empty())
    return report({ec::invalid_argument,
                   "verify needs one of --task FILE and --batch FILE"});
  if (!given.batch.empty())
    return verify_batch({given.batch, given.out, given.jobs}, *settings);
  auto what = load_task_file(given.task, settings->verifier);
  if (!what)
    return report(what.error());
  std::string response;
  if (!given.print_signature) {
    if (given.candidate.empty())
      return report({ec::invalid_argument, "verify needs --candidate FILE"});
    auto text = read_text_file(given.candidate, "the candidate");
    if (!text)
      return report(text.error());
    response = std::move(*text);
  }
  auto at = judge_one(*settings, *what, given.task, false);
  bool invalid = !at && at.error().code == ec::task_invalid;
  if (invalid && given.json && !given.print_signature)
    return print_verdict(
      {.kind = category::task_invalid, .detail = at.error().message}, *settings,
      true);
  if (!at)
    return report(at.error());
  if (given.print_signature)
    return print_signature(at->what, given.json);
  return print_verdict(verify_alone(*at, {given.candidate, response}),
                       *settings, given.json);
}

} // namespace

action add_verify(CLI::App& app) {
  auto given = std::make_shared<verify_arguments>();
  auto* sub = app.add_subcommand(
    "verify", "Judges a kernel against a KernelBench-style PyTorch module.");
  sub->footer(exit_statuses);
  auto* one = sub->add_option("--task", given->task,
                              "Python file with Model, get_inputs and "
                              "get_init_inputs.");
  auto* file = sub->add_option("--candidate", given->candidate,
                               "Source file, or a response with a fenced "
                               "block.");
  sub
    ->add_option("--target", given->target,
                 "What it is built for and run on; default: cpu.")
    ->check(CLI::IsMember({"cpu", "cuda", "cuda-host", "musa"}));
  sub
    ->add_option("--form", given->form,
                 "One C++ function, or a Python module with ModelNew; "
                 "default: function.")
    ->check(CLI::IsMember({"function", "module"}));
  sub
    ->add_option("--set", given->overrides,
                 "Overrides one knob of [verifier] or [reward]: "
                 "table.key=value. May be repeated.")
    ->allow_extra_args(false);
  sub->add_flag("--no-measure", given->no_measure, "Does not time it.");
  auto* print = sub->add_flag("--print-signature", given->print_signature,
                              "Prints the prototype that a candidate must "
                              "define.");
  auto* json = sub->add_flag("--json", given->json, "Prints one JSON object.");
  auto* batch
    = sub->add_option("--batch", given->batch,
                      "JSON lines instead, with the fields candidate (text), "
                      "task (a file) or reference (a module's text), and id. "
                      "Verdicts are JSON lines, as they come.");
  for (auto* other : {one, file, print, json})
    batch->excludes(other);
  sub
    ->add_option("--out", given->out,
                 "Adds the batch's verdicts to this file, but for ids that "
                 "have one there; default: stdout.")
    ->needs(batch);
  sub
    ->add_option("--jobs", given->jobs,
                 "Candidates judged at the same time; default: one per core.")
    ->check(whole_number(1, 1024))
    ->needs(batch);
  return [given] { return verify(*given); };
}

} // namespace swage
