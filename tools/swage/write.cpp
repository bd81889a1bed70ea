#include "runtime/observe/log.hpp"
#include "runtime/task/suite.hpp"
#include "runtime/verify/extract.hpp"
#include "runtime/verify/feedback.hpp"
#include "tools/swage/activity.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/local_engine.hpp"
#include "tools/swage/option_checks.hpp"
#include "tools/swage/sampler.hpp"
#include "tools/swage/taught.hpp"
#include "tools/swage/terminal_progress.hpp"
#include "tools/swage/verdict_text.hpp"

#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace swage {

namespace {

constexpr uint64_t most_samples = 65536;

struct write_arguments {
  std::string checkpoint, task;
  uint32_t samples = 16;
  uint64_t seed = 1;
  double temperature = 0, top_p = 0; ///< 0: the run's own.
  bool json = false;
};

/// A kernel and what the verifier said about it.
struct judged {
  std::string source;
  verdict outcome;
};

/// What came of all responses.
struct outcome {
  std::optional<judged> best;
  std::map<std::string, uint32_t> categories;
  std::map<std::string, std::string> examples; ///< A detail of each category.
  uint32_t right = 0, samples = 0;
  bool only_infra = true; ///< Nothing was judged at all.
};

sampling make_sampling(const write_arguments& given, const config& settings) {
  auto how = eval_sampling(settings);
  if (given.temperature > 0)
    how.temperature = static_cast<float>(given.temperature);
  if (given.top_p > 0)
    how.top_p = static_cast<float>(given.top_p);
  how.seed = given.seed;
  return how;
}

bool better(const judged& a, const judged& b) {
  return a.outcome.speedup > b.outcome.speedup;
}

/// Of a detail, which holds what a policy wrote.
std::string first_line(const std::string& detail) {
  auto clean = shortened(detail, detail.size());
  return clean.substr(0, clean.find('\n'));
}

outcome judge_all(judge_of_one& at, const std::vector<response>& responses) {
  terminal_progress shown{"verify", "kernels"};
  outcome all;
  size_t cached = 0;
  shown.update(0, responses.size());
  for (auto& one : responses) {
    ++all.samples;
    auto told = at.judge->verify(
      at.what, {fmt::format("{}", one.index), one.text}, {});
    ++all.categories[to_string(told.kind)];
    all.examples.emplace(to_string(told.kind), first_line(told.detail));
    all.only_infra = all.only_infra && is_uncharged(told.kind);
    all.right += told.ok();
    cached += told.cached;
    auto source = extract(one.text, at.what.as);
    judged now{source ? *source : one.text, std::move(told)};
    if (now.outcome.ok() && (!all.best || better(now, *all.best)))
      all.best = std::move(now);
    shown.update(all.samples, responses.size(),
                 fmt::format("{} right", all.right), cached);
  }
  return all;
}

void print_json(const outcome& all, const reward_config& reward) {
  nlohmann::ordered_json object = {{"found", all.best.has_value()},
                                   {"samples", all.samples},
                                   {"right", all.right},
                                   {"categories", all.categories}};
  if (all.best) {
    object["source"] = all.best->source;
    object["verdict"] = nlohmann::ordered_json::parse(
      verdict_json(all.best->outcome,
                   score(all.best->outcome, make_reward_options(reward))));
  }
  fmt::print("{}\n", object.dump(-1, ' ', false,
                                 nlohmann::json::error_handler_t::replace));
}

void print_best(const outcome& all) {
  fmt::print("{}\n", all.best->source);
  auto speedup = all.best->outcome.speedup;
  fmt::print(stderr,
             "swage: {} of {} samples are correct and legal; the best one is "
             "{}\n",
             all.right, all.samples,
             speedup > 0 ? fmt::format("{:.2f}x as fast as eager", speedup)
                         : "not timed");
}

/// What failed, the most frequent first, and what may help.
void print_failures(const outcome& all, const std::string& taught) {
  fmt::print(stderr, "swage: none of {} samples {}:\n", all.samples,
             all.only_infra ? "could be judged" : "is a correct kernel");
  std::vector<std::pair<uint32_t, std::string>> order;
  for (auto& [name, count] : all.categories)
    order.emplace_back(count, name);
  std::ranges::stable_sort(order, std::greater{},
                           [](auto& one) { return one.first; });
  for (auto& [count, name] : order) {
    auto& example = all.examples.at(name);
    fmt::print(stderr, "  {:5} {}{}{}\n", count, name,
               example.empty() ? "" : ", such as: ", example);
  }
  if (all.only_infra)
    return;
  if (!taught.empty())
    fmt::print(stderr, "swage: {}\n", taught);
  fmt::print(stderr,
             "swage: more samples may hold a right one: --samples {}, or "
             "another --seed or --temperature\n",
             std::min<uint64_t>(4 * uint64_t{all.samples}, most_samples));
}

result<sampler> open_policy(const std::filesystem::path& checkpoint,
                            const config& settings) {
  activity doing{"loading the policy"};
  return sampler::open(checkpoint, settings);
}

int write(const write_arguments& given) {
  auto checkpoint = find_checkpoint(given.checkpoint);
  if (!checkpoint)
    return report(checkpoint.error());
  auto run = config_of_run(checkpoint->directory);
  if (!run)
    return report(run.error());
  auto settings = run->value_or(config{});
  auto what = load_task_file(given.task, settings.verifier);
  if (!what)
    return report(what.error());
  // The engine starts its processes before LibTorch starts threads.
  auto at = judge_one(settings, *what, given.task,
                      needs_programs(settings.tasks));
  if (!at)
    return report(at.error());
  taught_tasks taught;
  if (*run)
    taught = settings.tasks;
  if (needs_programs(settings.tasks))
    if (auto complaint = taught_complaint(at->what, taught))
      log_warning(*complaint);
  auto policy = open_policy(checkpoint->directory, settings);
  if (!policy)
    return report(policy.error());
  auto asked = policy->ask(at->what, 0, given.samples,
                           make_sampling(given, settings));
  if (!asked)
    return report(asked.error());
  terminal_progress shown{"write", "samples"};
  shown.update(0, given.samples);
  auto responses = policy->run(
    [&](size_t done, size_t total) { shown.update(done, total); });
  auto all = judge_all(*at, responses);
  if (given.json)
    print_json(all, settings.reward);
  else if (all.best)
    print_best(all);
  else
    print_failures(all, taught_text(at->what, taught));
  if (all.best)
    return 0;
  return all.only_infra ? 3 : 1;
}

} // namespace

action add_write(CLI::App& app) {
  auto given = std::make_shared<write_arguments>();
  auto* sub = app.add_subcommand(
    "write", "Writes the best verified kernel for a PyTorch module.");
  sub->footer(exit_statuses);
  sub
    ->add_option("--checkpoint", given->checkpoint,
                 "A checkpoint, or the folder of a run: its newest one.")
    ->required();
  sub
    ->add_option("--task", given->task,
                 "Python file with Model, get_inputs and get_init_inputs.")
    ->required();
  sub->add_option("--samples", given->samples, "How many are drawn.")
    ->check(whole_number(1, most_samples))
    ->capture_default_str();
  sub->add_option("--seed", given->seed, "Seed of the draws.")
    ->check(whole_number(0))
    ->capture_default_str();
  sub
    ->add_option("--temperature", given->temperature,
                 "Sampling temperature; default: rollout.eval_temperature.")
    ->check(number(0.01, 10));
  sub
    ->add_option("--top-p", given->top_p,
                 "Nucleus sampling; default: rollout.eval_top_p.")
    ->check(number(0.01, 1));
  sub->add_flag("--json", given->json, "Prints one JSON object.");
  return [given] { return write(*given); };
}

} // namespace swage
