#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "tools/bench/build_hash.hpp"
#include "tools/bench/fixture.hpp"
#include "tools/bench/kept_figures.hpp"
#include "tools/bench/measured_run.hpp"
#include "tools/bench/taught_policy.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Trained samples per second of an asynchronous run over those of the same run
// in lock-step. What each figure means is in tools/bench/async-vs-lockstep.

namespace {

using namespace swage;
using namespace swage::bench;
namespace fs = std::filesystem;

constexpr double least_ratio = 1.1;
constexpr double least_ratio_with_waiting = 2;

/// How much is run.
struct extent {
  uint32_t pairs, waiting_pairs;
  uint32_t measured, waiting_measured; ///< Steps.
  std::vector<std::string> teaching; ///< Knobs.
  std::vector<std::string> training;
  bool keep = false; ///< What is measured, for another start of the program.
};

extent whole() {
  return {.pairs = 5,
          .waiting_pairs = 3,
          .measured = 6,
          .waiting_measured = 4,
          .teaching = {},
          .training = {},
          .keep = true};
}

extent reduced() {
  return {.pairs = 1,
          .waiting_pairs = 1,
          .measured = 6,
          .waiting_measured = 4,
          .teaching = {"tasks.train=32", "tasks.taught=32",
                       "learner.sft_steps=160", "learner.sft_batch=12"},
          .training = {"tasks.train=32", "tasks.taught=32",
                       "buffer.groups_per_batch=4"}};
}

config quickstart(const std::vector<std::string>& knobs) {
  auto file = value_or_exit(
    find_data("configs/quickstart.toml", "the quickstart's configuration"));
  auto settings = value_or_exit(load_config(file, knobs));
  if (auto done = resolve_paths(settings); !done)
    give_up(2, done.error().message);
  return settings;
}

/// What both runs have in common, and where it is not the quickstart's.
config settings_of_runs(const extent& how, const fs::path& policy) {
  auto out = quickstart(how.training);
  out.policy.path = policy;
  // Groups without spread are trained at advantage 0: that is the same work,
  // and no batch has to be decoded again.
  out.buffer.dynamic_sampling = false;
  // No checkpoint while it is measured.
  out.run.checkpoint_interval = 1'000'000;
  return out;
}

void say(const char* name, const run_figures& run) {
  auto wall = run.wall_s;
  std::fprintf(stderr,
               "%-12s %4.1f samples/s; machine: own %.0f %%, idle %.0f %%, "
               "others %.0f %%; CPU per sample %.0f ms\n"
               "  busy",
               name, samples_per_s(run), 100 * run.own_s / run.cores / wall,
               100 * run.idle_s / run.cores / wall, 100 * others_share(run),
               1e3 * run.own_s / static_cast<double>(run.samples));
  for (size_t i = 0; i < num_works; ++i)
    std::fprintf(stderr, " %s %.0f %%", to_string(static_cast<work>(i)),
                 100 * run.busy_s[i] / wall);
  std::fprintf(stderr, "; decoding paused %.0f %%; %u verdicts, %u cached",
               100 * run.paused_s / wall, run.verdicts, run.cached_verdicts);
  if (run.decode_phase_s > 0)
    std::fprintf(stderr, "; decode phase %.2f s", run.decode_phase_s);
  std::fprintf(stderr, "\n");
}

/// Where the figures of these runs are kept; empty: nowhere.
fs::path place_of(const extent& how, const run_plan& plan) {
  if (!how.keep)
    return {};
  auto build = hash_of_build(program_folder() / "bench-async-vs-lockstep");
  return fs::absolute("runs/async-vs-lockstep")
         / fmt::format("{:016x}", config_hash(plan.settings) ^ build);
}

/// Lock-step and asynchronous by turns, so that a noisy machine meets both.
/// Each pair has a seed of its own, which draws its items, tokens and waits.
std::vector<run_pair> run_pairs(run_plan plan, uint32_t count,
                                const fs::path& folder, const fs::path& place) {
  std::vector<run_pair> out;
  auto waits = plan.wait_median_s > 0;
  auto run = [&](const char* name, bool lockstep) {
    plan.lockstep = lockstep;
    auto file = place.empty() ? fs::path{}
                              : place
                                  / fmt::format("{}-{}{}.json", out.size() + 1,
                                                name, waits ? "-waiting" : "");
    auto made = kept_or_measured(file,
                                 [&] { return measured_run(plan, folder); });
    say(name, made);
    return made;
  };
  for (uint32_t i = 0; i < count; ++i) {
    std::fprintf(stderr, "pair %u of %u%s\n", i + 1, count,
                 waits ? ", with waiting" : "");
    plan.settings.run.seed = i + 1;
    run_pair next;
    next.lockstep = run("lock-step", true);
    next.asynchronous = run("asynchronous", false);
    out.push_back(next);
  }
  return out;
}

std::string load_average() {
  double loads[3] = {};
  if (::getloadavg(loads, 3) != 3)
    return "unknown";
  return fmt::format("{:.2f} {:.2f} {:.2f}", loads[0], loads[1], loads[2]);
}

nlohmann::json busy_json(const std::vector<run_pair>& pairs,
                         run_figures run_pair::*side) {
  nlohmann::json out;
  for (size_t i = 0; i < num_works; ++i) {
    std::vector<double> shares;
    for (auto& one : pairs)
      shares.push_back((one.*side).busy_s[i] / (one.*side).wall_s);
    out[to_string(static_cast<work>(i))] = median(shares);
  }
  return out;
}

/// CPU time per trained sample.
double cpu_ms(const std::vector<run_pair>& pairs, run_figures run_pair::*side) {
  std::vector<double> each;
  for (auto& one : pairs)
    each.push_back(1e3 * (one.*side).own_s
                   / static_cast<double>((one.*side).samples));
  return median(each);
}

void report(const std::vector<run_pair>& plain,
            const std::vector<run_pair>& waiting) {
  auto ratio = summarise_ratio(plain);
  auto with_waiting = summarise_ratio(waiting);
  auto idle = median_idle_share(plain);
  auto wanted = wanted_ratio(idle, least_ratio);
  std::fprintf(stderr,
               "ratio %.2f (%.2f to %.2f over %zu pairs), wanted %.2f: "
               "lock-step leaves %.0f %% of the machine idle\n"
               "with waiting %.2f (%.2f to %.2f over %zu pairs), wanted %.2f\n"
               "load average %s\n",
               ratio.ratio, ratio.bounds.low, ratio.bounds.high, plain.size(),
               wanted, 100 * idle, with_waiting.ratio, with_waiting.bounds.low,
               with_waiting.bounds.high, waiting.size(),
               least_ratio_with_waiting, load_average().c_str());
  nlohmann::json out;
  out["ratio"] = ratio.ratio;
  out["ratio_interval"] = {ratio.bounds.low, ratio.bounds.high};
  out["ratio_wanted"] = wanted;
  out["ratio_with_waiting"] = with_waiting.ratio;
  out["ratio_with_waiting_interval"]
    = {with_waiting.bounds.low, with_waiting.bounds.high};
  out["idle_share"] = idle;
  out["idle_share_with_waiting"] = median_idle_share(waiting);
  out["decode_phase_s"] = median_decode_phase_s(plain);
  out["cpu_ms_lockstep"] = cpu_ms(plain, &run_pair::lockstep);
  out["cpu_ms_async"] = cpu_ms(plain, &run_pair::asynchronous);
  out["busy_lockstep"] = busy_json(plain, &run_pair::lockstep);
  out["busy_async"] = busy_json(plain, &run_pair::asynchronous);
  std::puts(out.dump().c_str());
}

} // namespace

int main(int argc, char** argv) {
  auto how = has_flag(argc, argv, "--reduced") ? reduced() : whole();
  std::fprintf(stderr, "load average %s\n", load_average().c_str());
  scratch folder;
  auto policy = taught_policy(quickstart(how.teaching), folder.path);
  run_plan plan{.settings = settings_of_runs(how, policy),
                .measured = how.measured};
  auto place = place_of(how, plan);
  auto plain = run_pairs(plan, how.pairs, folder.path, place);
  plan.wait_median_s = median_decode_phase_s(plain);
  plan.measured = how.waiting_measured;
  auto waiting = run_pairs(plan, how.waiting_pairs, folder.path, place);
  report(plain, waiting);
}
