#include "actors/system.hpp"
#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/config/topology.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/observe/topology_text.hpp"
#include "runtime/task/task_sets.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/final_report.hpp"
#include "tools/swage/fork.hpp"
#include "tools/swage/option_checks.hpp"
#include "tools/swage/policy_parts.hpp"
#include "tools/swage/run_folder.hpp"
#include "tools/swage/run_view.hpp"
#include "tools/swage/stop_signals.hpp"
#include "tools/swage/supervisor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace swage {

namespace {

struct train_arguments {
  std::string file;
  std::vector<std::string> overrides;
  std::string out, node, from;
  std::optional<uint64_t> fork;
  bool resume = false, dry_run = false, help_config = false;
  /// Hidden: this process is the child that runs the node.
  std::optional<uint64_t> incarnation;
};

/// The configuration as resolved, and which node of it this is.
result<config> load(const train_arguments& given) {
  if (given.file.empty())
    return fail(ec::invalid_argument,
                "train needs a configuration file, such as "
                "configs/quickstart.toml");
  auto file = find_data(given.file, "a configuration file");
  if (!file)
    return tl::unexpected{file.error()};
  auto settings = load_config(*file, given.overrides, check_tasks);
  if (!settings)
    return settings;
  if (auto ok = resolve_paths(*settings); !ok)
    return tl::unexpected{ok.error()};
  return settings;
}

result<void> check_node(const config& settings, const std::string& node) {
  std::string names;
  for (auto& one : settings.cluster.nodes) {
    if (one.name == node)
      return {};
    names += (names.empty() ? "" : ", ") + one.name;
  }
  if (names.empty())
    return node.empty()
             ? result<void>{}
             : fail(ec::invalid_argument,
                    fmt::format("--node {}: the configuration has no "
                                "[[cluster.node]]; leave --node out",
                                node));
  return fail(ec::invalid_argument,
              fmt::format("{}: expected --node NAME with one of {}",
                          node.empty() ? "no node was named" : node, names));
}

/// What a fork needs beside the configuration, and what excludes it.
result<void> check_fork(const train_arguments& given, const config& settings) {
  auto wrong = [](const char* why) { return fail(ec::invalid_argument, why); };
  if (!given.fork)
    return given.from.empty()
             ? result<void>{}
             : wrong("--from RUN_DIR says where a fork begins; give --fork "
                     "STEP too");
  if (given.from.empty())
    return wrong("--fork STEP needs --from RUN_DIR, the run that it begins in");
  if (given.out.empty())
    return wrong("--fork STEP needs --out NEW_DIR, the folder of the new run");
  std::error_code failed;
  if (std::filesystem::equivalent(given.from, given.out, failed))
    return wrong("--fork needs an --out other than --from: the new run has a "
                 "folder of its own");
  if (given.resume)
    return wrong("--fork begins a new run and --resume continues one: give "
                 "one of them");
  if (!given.node.empty() && given.node != settings.cluster.head)
    return wrong("a fork is made by the head; start the other nodes with "
                 "NEW_DIR/config.toml");
  return {};
}

bool is_head(const config& settings, const std::string& node) {
  return node.empty() || node == settings.cluster.head;
}

/// The child: runs the node in this process.
int run_as_node(const train_arguments& given, const config& settings) {
  auto name = given.node.empty() ? "head" : given.node;
  auto started = start_log(
    {.node = given.node,
     .file = std::filesystem::path{given.out} / "log" / (name + ".log")});
  if (!started)
    return report(started.error());
  stop_signals signals;
  return run_node(settings,
                  {.out = given.out,
                   .resume = given.resume,
                   .node = given.node,
                   .incarnation = *given.incarnation,
                   .policy = make_policy_factory(settings)},
                  signals.token());
}

/// Larger than that of every earlier process of this node, also of one that
/// another parent started: milliseconds since the epoch.
uint64_t next_incarnation() {
  static uint64_t last = 0;
  using namespace std::chrono;
  auto now = system_clock::now().time_since_epoch();
  auto ms = static_cast<uint64_t>(duration_cast<milliseconds>(now).count());
  return last = std::max(last + 1, ms);
}

/// What a person should know who forked.
std::string fork_note(const checkpoint_info& point, const config& settings) {
  return fmt::format("forked from step {} ({}) of {}; run.stages = {} begins "
                     "with the first: leave out with --set what is done",
                     point.step, point.stage,
                     point.directory.parent_path().parent_path().string(),
                     fmt::join(settings.run.stages, ","));
}

/// How the other nodes of a fork begin: its policy is theirs too.
std::string fork_hint(const std::filesystem::path& policy,
                      const std::filesystem::path& file) {
  return fmt::format("start the other nodes with {}; where they do not see {}, "
                     "copy it there first",
                     file.string(), policy.string());
}

std::string folder_of(const train_arguments& given, const config& settings) {
  return given.out.empty() ? "runs/" + settings.run.name : given.out;
}

/// What a dry run was told about the folder, the run would be refused for.
result<void> check_folder(const train_arguments& given,
                          const config& settings) {
  bool told = !given.out.empty() || given.resume;
  return told && is_head(settings, given.node)
           ? check_start(folder_of(given, settings), given.resume)
           : result<void>{};
}

int dry_run(const train_arguments& given, const config& settings) {
  if (auto ok = check_folder(given, settings); !ok)
    return report(ok.error());
  if (auto sets = load_task_sets(settings, log_warning); !sets)
    return report(sets.error());
  fmt::print("{}\n{}", config_text(settings),
             topology_text(make_topology(settings)));
  return 0;
}

/// What a finished run's `--resume` prints, so that it does not look like one
/// that did something.
int show_finished(const std::filesystem::path& run) {
  write_stderr(fmt::format("swage: the run in {} was over already: nothing was "
                           "done; `swage train CONFIG --fork STEP --from {} "
                           "--out NEW_DIR` trains on\n",
                           run.string(), run.string()));
  return print_final_report(run);
}

/// Whether `--resume` has nothing to go on with. A folder that cannot be read
/// is left to those who open it and say why.
bool has_finished(const train_arguments& given, const config& settings) {
  auto path = folder_of(given, settings);
  return given.resume && is_head(settings, given.node)
         && check_start(path, true) && is_finished(path).value_or(false);
}

/// The parent: prepares the folder, then keeps a child running.
int run_as_parent(const train_arguments& given, const config& settings,
                  const std::optional<checkpoint_info>& point) {
  for (auto& program : {worker_program(), python_program()})
    if (!program)
      return report(program.error());
  auto path = folder_of(given, settings);
  if (has_finished(given, settings))
    return show_finished(path);
  std::vector<std::string> notes;
  bool head = is_head(settings, given.node);
  auto folder = head ? run_folder::open(path, settings, given.resume, notes)
                     : run_folder::join(path, settings, given.node);
  if (!folder)
    return report(folder.error());
  if (point) {
    if (auto copied = copy_checkpoint(*point, folder->path()); !copied)
      return report(copied.error());
    notes.push_back(fork_note(*point, settings));
    if (settings.cluster.nodes.size() > 1)
      notes.push_back(fork_hint(settings.policy.path, folder->config_file()));
  }
  for (auto& note : notes)
    write_stderr(fmt::format("swage: {}\n", note));
  auto arguments = [&](uint64_t start) {
    std::vector<std::string> all = {"swage",
                                    "train",
                                    folder->config_file().string(),
                                    "--out",
                                    folder->path().string(),
                                    "--as-node",
                                    fmt::format("{}", next_incarnation())};
    if (!given.node.empty())
      all.insert(all.end(), {"--node", given.node});
    if (given.resume || start > 0)
      all.push_back("--resume");
    return all;
  };
  int code = supervise(
    arguments, {settings.faults.max_restarts, settings.faults.stall_timeout_s});
  return head && code == 0 ? print_final_report(folder->path()) : code;
}

int train(const train_arguments& given) {
  if (given.help_config) {
    fmt::print("{}", config_help());
    return 0;
  }
  auto settings = load(given);
  if (!settings)
    return report(settings.error());
  if (auto ok = check_fork(given, *settings); !ok)
    return report(ok.error());
  std::optional<checkpoint_info> point;
  if (given.fork) {
    auto found = find_fork_point(given.from, *given.fork);
    if (!found)
      return report(found.error());
    settings->policy.path = forked_policy(given.out, *found).string();
    point = std::move(*found);
  }
  // A dry run shows all nodes and need not be one of them.
  if (!given.dry_run || !given.node.empty())
    if (auto ok = check_node(*settings, given.node); !ok)
      return report(ok.error());
  if (given.dry_run)
    return dry_run(given, *settings);
  return given.incarnation ? run_as_node(given, *settings)
                           : run_as_parent(given, *settings, point);
}

} // namespace

action add_train(CLI::App& app) {
  auto given = std::make_shared<train_arguments>();
  auto* sub = app.add_subcommand("train", "Trains a policy as a configuration "
                                          "file says.");
  sub->footer("Exit status: 0 the run is over or was stopped, 2 wrong use or "
              "configuration, 3 the\nsystem failed, 4 the run stalled or its "
              "head stayed away: the last line says why.");
  sub->add_option("CONFIG", given->file, "The configuration, a TOML file.");
  sub
    ->add_option("--set", given->overrides,
                 "Overrides one knob: table.key=value. May be repeated.")
    ->allow_extra_args(false);
  sub->add_option("--out", given->out,
                  "The run's folder; default: runs/<run.name>.");
  sub->add_flag("--resume", given->resume, "Continues the run in that folder.");
  sub
    ->add_option("--fork", given->fork,
                 "Begins a new run with the weights of a checkpoint of this "
                 "step; needs --from and --out.")
    ->check(whole_number(0));
  sub->add_option("--from", given->from,
                  "The folder of the run that a fork begins in.");
  sub->add_option("--node", given->node,
                  "Which [[cluster.node]] this process is.");
  sub->add_flag("--dry-run", given->dry_run,
                "Prints the resolved configuration and the topology.");
  sub->add_flag("--help-config", given->help_config,
                "Prints every knob with its default, range and meaning.");
  sub->add_option("--as-node", given->incarnation)->group("");
  return [given] { return train(*given); };
}

} // namespace swage
