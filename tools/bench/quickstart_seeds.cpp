#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/task/task_sets.hpp"
#include "tools/bench/build_hash.hpp"
#include "tools/bench/fixture.hpp"
#include "tools/bench/seed_tables.hpp"
#include "tools/bench/train_process.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

// What reinforcement learning adds to the taught policy, over several seeds of
// the real program. `tools/bench/quickstart-seeds --help` says how it judges.

namespace {

using namespace swage;
using namespace swage::bench;
namespace fs = std::filesystem;

/// Every stage and every table, at a size that says nothing of the policy.
constexpr auto reduced_knobs = R"(
  tasks.train=16 tasks.taught=0 tasks.held_out=8 tasks.validation=0
  tasks.solutions_per_task=2 rollout.group_size=4 rollout.max_new_tokens=64
  actors.verifier=1 buffer.groups_per_batch=2 buffer.dynamic_sampling=false
  learner.sft_steps=6 learner.sft_batch=8 learner.steps=3
)";

/// What the claim is about.
constexpr uint32_t least_tasks = 64, wanted_samples = 8, claimed_seeds = 5;

struct options {
  uint32_t seeds = 0; ///< 0: as many as usual.
  bool reduced = false;
  fs::path out = "runs/quickstart-seeds";
  std::string file = "configs/quickstart.toml";
  std::vector<std::string> knobs;
};

/// One seed's place on disk, and how it is run.
struct seed_folder {
  fs::path path;
  uint64_t seed = 0;

  fs::path run() const { return path / "run"; }
  fs::path log() const { return path / "train.log"; }
  fs::path clock() const { return path / "wall_s"; }
};

int parse(int argc, char** argv, options& into) {
  CLI::App app{"Gain of reinforcement learning over several seeds."};
  app.add_option("--seeds", into.seeds)->check(CLI::Range(1, 1000));
  app.add_flag("--reduced", into.reduced);
  app.add_option("--out", into.out);
  app.add_option("--config", into.file);
  app.add_option("--set", into.knobs)->allow_extra_args(false);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (into.seeds == 0)
    into.seeds = into.reduced ? 2 : claimed_seeds;
  return -1;
}

/// Seconds that earlier processes of the seed took.
double read_clock(const seed_folder& where) {
  std::ifstream file{where.clock()};
  double seconds = 0;
  return file >> seconds ? seconds : 0;
}

void write_clock(const seed_folder& where, double seconds) {
  auto beside = where.clock();
  beside += ".new";
  std::ofstream{beside} << seconds << '\n';
  fs::rename(beside, where.clock());
}

fs::path key_folder(const options& given, config settings) {
  settings.run.seed = 0;
  auto key = config_hash(settings) * 1099511628211ull
             + hash_of_build(program_folder() / "swage");
  return fs::absolute(given.out) / fmt::format("{:016x}", key);
}

train_command command_for(const seed_folder& where, const options& given) {
  train_command out;
  out.program = program_folder() / "swage";
  out.arguments = {given.file};
  for (auto& knob : given.knobs)
    out.arguments.insert(out.arguments.end(), {"--set", knob});
  out.arguments.insert(out.arguments.end(),
                       {"--set", fmt::format("run.seed={}", where.seed),
                        "--out", where.run().string()});
  if (fs::exists(where.run() / "run.db"))
    out.arguments.push_back("--resume");
  out.output = where.log();
  // It stops in order if this process dies, and can be resumed.
  out.parent_death = SIGTERM;
  return out;
}

/// Runs or resumes one seed until its process ends.
void train(const seed_folder& where, const options& given) {
  fs::create_directories(where.path);
  auto before = read_clock(where);
  auto start = steady::now();
  auto noted = start;
  train_process process{command_for(where, given)};
  while (!process.poll()) {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    if (since(noted) < 5)
      continue;
    noted = steady::now();
    write_clock(where, before + since(start));
  }
  write_clock(where, before + since(start));
  if (auto code = *process.poll(); code != 0)
    give_up(code == 2 ? 2 : 3,
            fmt::format("seed {}: swage train ended with {}; its log is {}",
                        where.seed, code, (where.run() / "log").string()));
}

seed_outcome outcome_of(const seed_folder& where, const options& given,
                        const config& settings) {
  auto stages = settings.run.stages.size();
  auto over = value_or_exit(is_over(where.run(), stages));
  fmt::print(stderr, "seeds: seed {} of {}, {} {}\n", where.seed, given.seeds,
             over ? "kept in" : "runs in", where.path.string());
  if (!over)
    train(where, given);
  if (!value_or_exit(is_over(where.run(), stages)))
    give_up(3, fmt::format("seed {} was interrupted; start the benchmark "
                           "again to go on",
                           where.seed));
  auto out = value_or_exit(read_seed(where.run()));
  out.seed = where.seed;
  out.wall_s = read_clock(where);
  return out;
}

task_facts facts_of(const config& settings) {
  auto sets = value_or_exit(load_task_sets(settings));
  task_facts out;
  for (auto& one : sets.held_out) {
    out.tags[one.id] = one.tags;
    out.programs[one.id] = one.canonical;
  }
  return out;
}

/// Evaluations that are too small for the claim are refused, not judged.
void check_size(const config& settings) {
  if (settings.tasks.held_out < least_tasks
      || settings.rollout.eval_samples != wanted_samples)
    give_up(2, fmt::format("expected at least {} held-out tasks and {} samples "
                           "of each, found {} and {}; --reduced needs neither",
                           least_tasks, wanted_samples, settings.tasks.held_out,
                           settings.rollout.eval_samples));
}

void print_tables(const std::vector<seed_outcome>& all,
                  const task_facts& facts) {
  for (auto what : all_metrics)
    fmt::print("{}\n", metric_table(all, what));
  fmt::print("{}\n{}\n{}\n", category_table(all), part_tables(all, facts),
             run_table(all));
  fmt::print("One evaluation's own error of {}, from sampling: {:.2f} "
             "points.\n",
             name_of(metric::avg_at_k, all),
             100 * evaluation_error(all, metric::avg_at_k));
}

void print_claim(const claim& found, uint32_t seeds) {
  auto line = [](bool holds, const char* what) {
    fmt::print("{} {}\n", holds ? "holds:" : "FAILS:", what);
  };
  line(found.gains, "Avg@8 rises by at least 10 points in the median");
  line(!found.loses, "Avg@8 falls in no seed by more than that error");
  line(found.passes, "Pass@8 does not fall in the median");
  line(found.faster, "Faster Rate rises in the median");
  if (seeds < claimed_seeds)
    fmt::print("The claim is over {} seeds, these are {}.\n", claimed_seeds,
               seeds);
}

int run(options given) {
  if (given.reduced) {
    auto knobs = words(reduced_knobs);
    given.knobs.insert(given.knobs.begin(), knobs.begin(), knobs.end());
  }
  given.file = value_or_exit(find_data(given.file, "a configuration")).string();
  auto settings = value_or_exit(load_config(given.file, given.knobs));
  if (auto ok = resolve_paths(settings); !ok)
    give_up(2, ok.error().message);
  if (!given.reduced)
    check_size(settings);
  auto root = key_folder(given, settings);
  std::vector<seed_outcome> all;
  for (uint64_t seed = 1; seed <= given.seeds; ++seed)
    all.push_back(
      outcome_of({root / fmt::format("seed-{}", seed), seed}, given, settings));
  print_tables(all, facts_of(settings));
  auto summary = summary_json(all);
  summary["reduced"] = given.reduced;
  auto found = judge(all);
  if (given.reduced) {
    fmt::print("Reduced: the figures are too few for the claim.\n");
  } else {
    print_claim(found, given.seeds);
    summary["holds"] = found.holds();
  }
  fmt::print("{}\n", summary.dump());
  return given.reduced || found.holds() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  options given;
  if (int code = parse(argc, argv, given); code >= 0)
    return code;
  // Ctrl-C reaches the program that trains, which stops in order; then so do
  // we.
  std::signal(SIGINT, SIG_IGN);
  return run(std::move(given));
}
