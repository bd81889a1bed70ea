#include "tools/swage/tasks_audit.hpp"

#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/observe/table.hpp"
#include "runtime/task/suite.hpp"
#include "runtime/verify/audit.hpp"
#include "tools/swage/terminal_progress.hpp"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace swage {

namespace {

using nlohmann::ordered_json;

struct audit_arguments {
  std::string path;
  std::vector<std::string> overrides;
  size_t mutants = 24;
  double min_share = 0.8;
  uint64_t seed = 1;
  bool json = false;
};

/// So many survivors are named in the table; all of them with --json.
constexpr size_t named_survivors = 2;

result<config> load(const audit_arguments& given) {
  for (auto& one : given.overrides)
    if (!one.starts_with("verifier."))
      return fail(ec::invalid_argument,
                  fmt::format("--set {}: expected a knob of [verifier], which "
                              "is all that audit reads",
                              one));
  return parse_config("", "the defaults", given.overrides);
}

result<std::vector<task>> load_tasks(const audit_arguments& given,
                                     const verifier_config& settings) {
  auto path = find_data(given.path, "tasks");
  if (!path)
    return tl::unexpected{path.error()};
  if (path->extension() != ".py" || std::filesystem::is_directory(*path))
    return load_suite(*path, settings, log_warning);
  auto one = load_task_file(*path, settings);
  if (!one)
    return tl::unexpected{one.error()};
  return std::vector{std::move(*one)};
}

/// What came of all tasks, in their order.
class audit_table {
public:
  explicit audit_table(const audit_arguments& given) : given_{given} {
    rows_.align_left(5);
    rows_.align_left(6);
  }

  void add(const task& what, const task_audit& found);
  void leave_out(const task& what, const std::string& why);

  /// Returns the exit status.
  int finish() const;

private:
  const audit_arguments& given_;
  table rows_{{"task", "level", "mutants", "caught", "share",
               "answers that pass", "survivors"}};
  size_t counted_ = 0, caught_ = 0, audited_ = 0;
  std::vector<std::string> weak_, untested_, left_out_;
};

std::string first_of(const std::vector<std::string>& survivors) {
  auto shown = std::min(survivors.size(), named_survivors);
  auto text = fmt::format("{}", fmt::join(survivors.begin(),
                                          survivors.begin() + shown, "; "));
  if (shown < survivors.size())
    text += fmt::format("; and {} more", survivors.size() - shown);
  return text;
}

void audit_table::add(const task& what, const task_audit& found) {
  ++audited_;
  counted_ += found.counted();
  caught_ += found.caught;
  bool weak = found.share() < given_.min_share || !found.answers.empty();
  if (weak)
    weak_.push_back(what.id);
  if (found.counted() == 0)
    untested_.push_back(what.id);
  if (given_.json) {
    fmt::print("{}\n", ordered_json{{"id", what.id},
                                    {"level", what.level},
                                    {"mutants", found.counted()},
                                    {"caught", found.caught},
                                    {"share", found.share()},
                                    {"stillborn", found.stillborn},
                                    {"weak", weak},
                                    {"survivors", found.survivors},
                                    {"answers", found.answers}}
                         .dump());
    std::fflush(stdout);
    return;
  }
  rows_.add({what.id, fmt::format("{}", what.level),
             fmt::format("{}", found.counted()),
             fmt::format("{}", found.caught),
             found.counted() == 0 ? "-" : fmt::format("{:.2f}", found.share()),
             fmt::format("{}", fmt::join(found.answers, ", ")),
             first_of(found.survivors)});
}

void audit_table::leave_out(const task& what, const std::string& why) {
  left_out_.push_back(what.id);
  if (given_.json)
    fmt::print("{}\n", ordered_json{{"id", what.id},
                                    {"level", what.level},
                                    {"left_out", why}}
                         .dump());
  else
    log_warning(fmt::format("task {} is left out: {}", what.id, why));
}

int audit_table::finish() const {
  if (audited_ == 0)
    return report({ec::task_invalid, "no task could be audited"});
  if (given_.json)
    return weak_.empty() ? 0 : 1;
  fmt::print("{}", rows_.text());
  auto share = counted_ == 0 ? 1.0
                             : static_cast<double>(caught_)
                                 / static_cast<double>(counted_);
  fmt::print("{} tasks, {} left out; {} of {} mutants caught ({:.1f} %)\n",
             audited_, left_out_.size(), caught_, counted_, 100 * share);
  if (!untested_.empty())
    fmt::print("no mutant ran: {}\n", fmt::join(untested_, ", "));
  if (!weak_.empty())
    fmt::print("{} weak: {}\n", weak_.size(), fmt::join(weak_, ", "));
  return weak_.empty() ? 0 : 1;
}

result<std::unique_ptr<judge_client>> start_judge(secret_seeds& seeds) {
  auto python = python_program();
  if (!python)
    return tl::unexpected{python.error()};
  return judge_client::start(*python, verify_folder(), seeds.secret());
}

int audit(const audit_arguments& given) {
  auto settings = load(given);
  if (!settings)
    return report(settings.error());
  auto all = load_tasks(given, settings->verifier);
  if (!all)
    return report(all.error());
  secret_seeds seeds{given.seed};
  auto judge = start_judge(seeds);
  if (!judge)
    return report(judge.error());
  audit_table out{given};
  {
    terminal_progress shown{"audit", "tasks"};
    for (size_t i = 0; i < all->size(); ++i) {
      const auto& one = (*all)[i];
      auto step = [&] { shown.update(i, all->size(), one.id); };
      step();
      auto found = audit_task(one, given.mutants, {**judge, seeds, step});
      if (found)
        out.add(one, *found);
      else if (found.error().code == ec::task_invalid)
        out.leave_out(one, found.error().message);
      else
        return report(found.error());
    }
    shown.update(all->size(), all->size());
  }
  return out.finish();
}

} // namespace

action add_tasks_audit(CLI::App& tasks) {
  auto given = std::make_shared<audit_arguments>();
  auto* sub = tasks.add_subcommand(
    "audit", "Says which tasks' tests do not tell their module from one with "
             "an operator dropped or changed.");
  sub->footer(exit_statuses);
  sub
    ->add_option("PATH", given->path,
                 "A folder or JSON-lines file of KernelBench-style modules, or "
                 "one Python file.")
    ->required();
  sub
    ->add_option("--mutants", given->mutants,
                 "At most so many altered modules a task.")
    ->check(CLI::Range(1, 10000))
    ->capture_default_str();
  sub
    ->add_option("--min-share", given->min_share,
                 "A task is weak if its tests catch a smaller share of those "
                 "that run (1: if any passes), or take an answer that needs no "
                 "computing. Exit status 1 if one is weak.")
    ->check(CLI::Range(0.0, 1.0))
    ->capture_default_str();
  sub
    ->add_option("--seed", given->seed,
                 "What inputs and states are drawn from; 0: others each time.")
    ->capture_default_str();
  sub
    ->add_option("--set", given->overrides,
                 "Overrides one knob of [verifier]: table.key=value. May be "
                 "repeated.")
    ->allow_extra_args(false);
  sub->add_flag("--json", given->json, "Prints one JSON object per task.");
  return [given] { return audit(*given); };
}

} // namespace swage
