#include "runtime/config/built.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/task/prototype.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/local_engine.hpp"
#include "tools/swage/verdict_text.hpp"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <memory>

namespace swage {

namespace {

struct verify_arguments {
  std::string task, candidate;
  verifier_config how;
  bool json = false, no_measure = false, print_signature = false;
};

int print_signature(const task& what) {
  if (what.as == form::function)
    fmt::print("{}\n", prototype(what.args));
  else
    fmt::print("class ModelNew(torch.nn.Module)  # __init__ and forward as "
               "in Model\n");
  return 0;
}

int print_verdict(const verdict& outcome, bool json) {
  auto reward = score(outcome, make_reward_options({}));
  if (json)
    fmt::print("{}\n", verdict_json(outcome, reward));
  else
    fmt::print("{}\n{}\n", verdict_lines(outcome, reward),
               feedback_text(outcome, 1));
  return verdict_exit_code(outcome);
}

int verify(verify_arguments given) {
  given.how.measure = !given.no_measure;
  for (auto built : {check_built("verifier.target", given.how.target),
                     check_built("verifier.form", given.how.form)})
    if (!built)
      return report(built.error());
  auto what = read_task(given.task, given.how);
  if (!what)
    return report(what.error());
  std::string response;
  if (!given.print_signature) {
    if (given.candidate.empty())
      return report({ec::invalid_argument, "verify needs --candidate FILE"});
    auto text = read_file(given.candidate, "the candidate");
    if (!text)
      return report(text.error());
    response = std::move(*text);
  }
  auto judge = start_engine(given.how);
  if (!judge)
    return report(judge.error());
  auto loaded = (*judge)->load(*what);
  if (!loaded && loaded.error().code == ec::task_invalid && given.json)
    return print_verdict(
      {.kind = category::task_invalid, .detail = loaded.error().message}, true);
  if (!loaded)
    return report(loaded.error());
  if (given.print_signature)
    return print_signature(*loaded);
  return print_verdict(
    (*judge)->verify(*loaded, {given.candidate, response}, {}), given.json);
}

} // namespace

action add_verify(CLI::App& app) {
  auto given = std::make_shared<verify_arguments>();
  auto* sub = app.add_subcommand(
    "verify", "Judges a kernel against a KernelBench-style PyTorch module.");
  sub
    ->add_option("--task", given->task,
                 "Python file with Model, get_inputs and get_init_inputs.")
    ->required();
  sub->add_option("--candidate", given->candidate,
                  "Source file, or a response with a fenced block.");
  sub
    ->add_option("--target", given->how.target,
                 "What it is built for and run on.")
    ->check(CLI::IsMember({"cpu", "cuda", "cuda-host", "musa"}))
    ->capture_default_str();
  sub
    ->add_option("--form", given->how.form,
                 "One C++ function, or a Python module with ModelNew.")
    ->check(CLI::IsMember({"function", "module"}))
    ->capture_default_str();
  sub->add_flag("--no-measure", given->no_measure, "Does not time it.");
  sub->add_flag("--print-signature", given->print_signature,
                "Prints the prototype that a candidate must define.");
  sub->add_flag("--json", given->json, "Prints one JSON object.");
  return [given] { return verify(*given); };
}

} // namespace swage
