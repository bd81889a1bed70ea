#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "tools/bench/fixture.hpp"
#include "tools/bench/kill_plan.hpp"
#include "tools/bench/killed_run.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

// A run that is killed again and again, and what is left of it in the end.
// `tools/bench/resume-after-kill --help` says what is checked.

namespace {

using namespace swage;
using namespace swage::bench;
namespace fs = std::filesystem;

/// A run of every stage that needs no good policy: groups without spread are
/// trained, and a failed one may come back as a repair.
constexpr auto common_knobs = R"(
  tasks.validation=0 tasks.taught=0 tasks.solutions_per_task=2
  rollout.max_live=8 rollout.group_size=4 rollout.max_new_tokens=64
  rollout.eval_samples=4 verifier.trials=2 verifier.stress=1
  buffer.groups_per_batch=2 buffer.dynamic_sampling=false
  buffer.max_attempts=100 learner.sft_batch=8
  run.checkpoint_interval=5 run.keep_last=2
)";
constexpr auto full_knobs = R"(
  tasks.train=60 tasks.held_out=48 learner.sft_steps=60 learner.steps=60
)";
constexpr auto reduced_knobs = R"(
  tasks.train=16 tasks.held_out=16 learner.sft_steps=40 learner.steps=30
  actors.verifier=1 verifier.measure=false run.checkpoint_interval=1
)";

struct options {
  uint32_t kills = 0; ///< 0: as many as usual.
  uint64_t seed = 1;
  bool reduced = false;
  fs::path out;
};

int parse(int argc, char** argv, options& into) {
  CLI::App app{"Kills a run again and again, and checks what is left."};
  app.add_option("--kills", into.kills)->check(CLI::Range(1, 1000));
  app.add_option("--seed", into.seed);
  app.add_flag("--reduced", into.reduced);
  app.add_option("--out", into.out);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (into.kills == 0)
    into.kills = into.reduced ? 5 : 20;
  return -1;
}

/// The folder of everything that the benchmark writes.
fs::path make_folder(const fs::path& out) {
  if (!out.empty()) {
    if (fs::exists(out / "run"))
      give_up(2, fmt::format("{} holds a run already; name another folder",
                             out.string()));
    fs::create_directories(out);
    return fs::absolute(out);
  }
  auto name = (fs::temp_directory_path() / "swage-kills-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    give_up(3, "cannot make a temporary folder");
  return name;
}

killed_run_options setup(const options& given, const fs::path& folder) {
  killed_run_options out;
  out.folder = folder;
  out.program = program_folder() / "swage";
  out.file = value_or_exit(
    find_data("configs/quickstart.toml", "a configuration"));
  out.knobs = words(std::string{common_knobs}
                    + (given.reduced ? reduced_knobs : full_knobs));
  out.knobs.push_back(
    fmt::format("verifier.cache={}", (folder / "cache").string()));
  out.settings = value_or_exit(load_config(out.file, out.knobs));
  return out;
}

std::vector<planned_kill> plan_of(const options& given, const config& how) {
  std::vector<uint32_t> training;
  auto& stages = how.run.stages;
  for (uint32_t i = 0; i < stages.size(); ++i)
    if (stages[i] == "sft" || stages[i].starts_with("rl-"))
      training.push_back(i);
  return draw_kills(given.seed, given.kills,
                    static_cast<uint32_t>(stages.size()), training);
}

/// Some kills came while batches were trained. On a machine that is faster than
/// the plan, all of them may come between.
bool hit_training(const killed_run& run) {
  return std::ranges::any_of(run.kills(), [](auto& one) {
    return one.stage == "checkpoint" || one.stage == "sft"
           || one.stage.starts_with("rl-");
  });
}

nlohmann::json summary(const killed_run& run, double wall_s) {
  nlohmann::json out;
  auto& end = run.facts();
  auto groups = count_groups(end);
  out["kills"] = run.kills().size();
  out["resumed"] = std::ranges::count_if(
    run.kills(), [&](auto& one) { return one.openings < end.openings; });
  out["hash_equal"] = run.hash_equal();
  out["groups_lost"] = groups.lost;
  out["groups"] = {{"trained", groups.trained},
                   {"waiting", groups.waiting},
                   {"discarded", groups.discarded}};
  out["kills_by_stage"] = nlohmann::json::object();
  out["kills_by_victim"] = nlohmann::json::object();
  for (auto& one : run.kills()) {
    auto& by_stage = out["kills_by_stage"][one.stage];
    by_stage = by_stage.is_null() ? 1 : by_stage.get<int>() + 1;
    auto& by_victim = out["kills_by_victim"][to_string(one.whom)];
    by_victim = by_victim.is_null() ? 1 : by_victim.get<int>() + 1;
  }
  out["batches"] = end.batches.size();
  out["voided"] = std::ranges::count_if(end.batches,
                                        [](auto& one) { return one.voided; });
  out["longest_orphan_s"] = run.longest_orphan_s();
  out["faults"] = run.faults().size();
  out["wall_s"] = wall_s;
  return out;
}

} // namespace

int main(int argc, char** argv) {
  options given;
  if (int code = parse(argc, argv, given); code >= 0)
    return code;
  auto start = steady::now();
  auto folder = make_folder(given.out);
  auto how = setup(given, folder);
  auto plan = plan_of(given, how.settings);
  killed_run run{how};
  for (auto& one : plan)
    if (!run.kill(one))
      break;
  run.finish();
  for (auto& fault : run.faults())
    fmt::print("fault: {}\n", fault);
  if (!hit_training(run))
    fmt::print("fault: no kill came while batches were trained\n");
  auto out = summary(run, since(start));
  bool whole = run.faults().empty() && hit_training(run)
               && out["kills"] == plan.size() && out["resumed"] == plan.size();
  if (!whole)
    fmt::print("The run is kept in {}\n", folder.string());
  else if (given.out.empty())
    fs::remove_all(folder);
  fmt::print("{}\n", out.dump());
  return whole ? 0 : 1;
}
