#include "tools/bench/measured_run.hpp"

#include "actors/local_node.hpp"
#include "runtime/verify/measure_slot.hpp"
#include "tools/bench/fixture.hpp"
#include "tools/bench/run_judge.hpp"
#include "tools/bench/run_probe.hpp"
#include "tools/swage/policy_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace swage::bench {

namespace {

namespace fs = std::filesystem;

/// Steps before the measured ones: an asynchronous run begins with as many
/// batches of the first version as it may have outstanding.
uint32_t warm_up_of(const run_plan& plan) {
  return plan.lockstep ? 1 : plan.settings.buffer.max_staleness + 1;
}

/// What has been used up to a moment.
struct reading {
  steady::time_point when;
  double own_s = 0, idle_s = 0, paused_s = 0;
  uint32_t verdicts = 0, cached = 0;
};

double machine_idle_s() {
  std::ifstream file{"/proc/stat"};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto idle = idle_seconds(text, usable_cores(),
                           static_cast<double>(::sysconf(_SC_CLK_TCK)));
  if (idle < 0)
    give_up(3, "expected a line for each core in /proc/stat, found none for "
               "some; the idle share cannot be measured here");
  return idle;
}

/// A run that is watched from its first measured step to its last one.
class watched_run {
public:
  watched_run(const run_plan& plan, node_materials& made)
    : plan_(plan), first_(warm_up_of(plan)), last_(first_ + plan.measured),
      gate_(made.gate),
      judge_(made.judges, times_, decoding_,
             {plan.lockstep, plan.wait_median_s, plan.settings.run.seed}) {
    for (auto& one : made.generators)
      one = std::make_shared<watched_generator>(one, times_, decoding_);
    made.mirror = std::make_shared<watched_scorer>(made.mirror, times_);
    auto& learner = made.learners.front();
    learner = std::make_shared<watched_trainer>(
      learner, times_, [this](uint64_t kept) { trained(kept); });
    made.judges.assign(
      made.me.actors.verifier,
      [this](const verify_request& request, std::stop_token stop) {
        return judge_.judge(request, stop);
      });
  }

  run_figures figures() const {
    if (steps_ < last_)
      give_up(3, fmt::format("the run ended after {} steps; expected {}",
                             steps_, last_));
    run_figures out;
    out.wall_s = std::chrono::duration<double>(end_.when - begin_.when).count();
    out.samples = samples_;
    out.own_s = end_.own_s - begin_.own_s;
    out.idle_s = end_.idle_s - begin_.idle_s;
    out.cores = static_cast<double>(usable_cores().size());
    out.paused_s = end_.paused_s - begin_.paused_s;
    out.verdicts = end_.verdicts - begin_.verdicts;
    out.cached_verdicts = end_.cached - begin_.cached;
    out.busy_s = times_.busy_s(begin_.when, end_.when);
    if (plan_.lockstep)
      out.decode_phase_s = median(decoding_.phases_s());
    return out;
  }

private:
  /// On the learner's thread.
  void trained(uint64_t kept) {
    ++steps_;
    if (steps_ > first_ && steps_ <= last_)
      samples_ += kept;
    if (steps_ == first_)
      begin_ = read();
    if (steps_ == last_)
      end_ = read();
  }

  reading read() const {
    reading out;
    out.when = steady::now();
    out.own_s = cpu_of_all();
    out.idle_s = machine_idle_s();
    out.paused_s = gate_->paused_s();
    out.verdicts = judge_.verdicts();
    out.cached = judge_.cached_verdicts();
    return out;
  }

  const run_plan& plan_;
  const uint32_t first_, last_; ///< It is measured after and up to these steps.
  std::shared_ptr<measure_gate> gate_;
  run_timeline times_;
  decode_gate decoding_;
  run_judge judge_;
  uint32_t steps_ = 0;
  uint64_t samples_ = 0;
  reading begin_, end_;
};

/// The configuration of one run. One step more than is measured: the last
/// measured one has as much going on beside it as those before. The learning
/// rate is that of a whole run's first steps, so that policies drift as there.
config settings_of(const run_plan& plan, const fs::path& scratch) {
  auto out = plan.settings;
  out.run.stages = {"rl-single"};
  out.verifier.cache = scratch / "cache";
  out.learner.steps = warm_up_of(plan) + plan.measured + 1;
  auto rise = plan.settings.learner.warmup * plan.settings.learner.steps;
  auto risen = std::min(1.0, out.learner.steps / rise);
  out.learner.lr *= risen;
  out.learner.warmup = risen * rise / out.learner.steps;
  out.learner.lr_final = 1;
  if (plan.lockstep)
    out.buffer.max_staleness = 0;
  return out;
}

} // namespace

run_figures measured_run(const run_plan& plan, const fs::path& scratch) {
  auto folder = scratch / "run";
  fs::create_directories(folder);
  auto settings = settings_of(plan, folder);
  node_options options{.out = folder, .policy = make_policy_factory(settings)};
  auto figures = [&] {
    auto made = value_or_exit(prepare_node(settings, options));
    if (plan.wait_median_s > 0)
      made.me.actors.verifier = settings.buffer.groups_per_batch
                                * settings.rollout.group_size;
    watched_run run{plan, made};
    if (auto code = run_prepared(made, {}); code != 0)
      give_up(code, "the run failed; see above");
    return run.figures();
  }();
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return figures;
}

} // namespace swage::bench
