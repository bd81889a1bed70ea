#include "actors/compute.hpp"
#include "runtime/config/load_config.hpp"
#include "runtime/config/paths.hpp"
#include "runtime/policy/torch_policy.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/measure.hpp"
#include "tools/bench/fixture.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

// How far from 1 the speedup of an artifact over itself is, measured as the
// quickstart measures, while a policy decodes on one core and is trained on
// another.

namespace {

using namespace swage;
using namespace swage::bench;

/// A rollout's thread that decodes, except while something is measured, and a
/// learner's that trains, with the quickstart's policy and random weights.
class loop_at_work {
public:
  loop_at_work(const std::filesystem::path& policy, measure_gate& gate)
    : gate_{gate}, model_{value_or_exit(make_generator(
                     policy, {.max_live = 256, .threads = 1}, 1))},
      student_{std::move(
        value_or_exit(make_torch_trainers(policy, {}, 1, 1, 0)).front())},
      decode_{[this](const std::stop_token& stop) { decode(stop); }},
      train_{[this](const std::stop_token& stop) { train(stop); }} {
  }

  uint64_t tokens() const { return tokens_; }
  uint64_t steps() const { return steps_; }

private:
  static constexpr int32_t some_tokens = 200;

  std::vector<int32_t> draw(size_t count) {
    std::uniform_int_distribution<int32_t> token{0, some_tokens - 1};
    std::vector<int32_t> out(count);
    std::ranges::generate(out, [&] { return token(dice_); });
    return out;
  }

  void decode(const std::stop_token& stop) {
    for (uint64_t id = 0; !stop.stop_requested();) {
      for (; model_->pending() < 256; ++id) {
        sequence_request next;
        next.id = id;
        next.prompt = draw(40);
        next.how.max_new_tokens = 200;
        next.seed = id;
        if (auto queued = model_->submit(std::move(next)); !queued)
          give_up(3, queued.error().message);
      }
      std::binary_semaphore free{0};
      if (!gate_.pass(this, [&] { free.release(); }))
        free.acquire();
      for (auto& ended : model_->step())
        tokens_ += ended.tokens.size();
    }
  }

  void train(const std::stop_token& stop) {
    std::mt19937 dice{2};
    std::vector<train_sample> samples(64);
    for (auto& sample : samples) {
      sample.prompt.assign(40, 1);
      for (int i = 0; i < 160; ++i)
        sample.response.push_back(static_cast<int32_t>(dice() % some_tokens));
    }
    for (; !stop.stop_requested(); ++steps_)
      if (auto done = student_->step(
            samples, {.what = objective::sft, .lr = 1e-4, .threads = 1});
          !done)
        give_up(3, done.error().message);
  }

  measure_gate& gate_;
  std::mt19937 dice_{1};
  std::unique_ptr<generator> model_;
  std::unique_ptr<trainer> student_;
  std::atomic<uint64_t> tokens_{0}, steps_{0};
  std::jthread decode_, train_;
};

} // namespace

int main(int argc, char** argv) {
  bool reduced = has_flag(argc, argv, "--reduced");
  int rounds = reduced ? 40 : 100;
  scratch folder;
  auto options = options_in(folder.path);
  secret_seeds seeds{0};
  auto judge = value_or_exit(
    judge_client::start(options.python, options.library, seeds.secret()));
  auto timer = value_or_exit(measurer::start(
    {options.python, options.library,
     options.worker.parent_path().parent_path() / "lib/libswage_sandbox.so",
     folder.path / "measure.lock", -1}));
  auto compiler = value_or_exit(
    builder::create({options.worker, folder.path / "build",
                     options.library / "prelude.hpp"}));
  auto task = usual_task();
  auto settings = value_or_exit(load_config(
    value_or_exit(find_data("configs/quickstart.toml", "the quickstart"))));
  task.eval.timing_pairs = static_cast<int>(settings.verifier.timing_pairs);
  auto loaded = value_or_exit(judge->load(task));
  auto built = compiler->build(usual_kernel(0), loaded->args);
  if (!built)
    give_up(3, built.error().detail);

  measure_gate gate;
  timer->on_measure = [&](bool begins) { gate.measuring(begins); };
  loop_at_work loop{value_or_exit(find_data("configs/quickstart", "the policy")),
                    gate};
  int within = 0, within_five = 0;
  double wall = 0, worst = 1;
  auto start = steady::now();
  for (int i = 0; i < rounds; ++i) {
    auto found = timer->compare(*loaded, task.eval, *built, *built, *judge,
                                seeds, {});
    if (!found.ok())
      give_up(3, fmt::format("{}: {}", to_string(found.kind), found.detail));
    auto off = std::max(found.times.speedup, 1 / found.times.speedup);
    within += off <= 1.1;
    within_five += off <= 1.05;
    worst = std::max(worst, off);
    wall += found.wall_s;
    std::fprintf(stderr, "%3d: %.3f (%u pairs, %.1f us, %.0f ms, of them "
                         "%.0f held)\n",
                 i, found.times.speedup, found.pairs,
                 found.times.candidate_s * 1e6, found.wall_s * 1e3,
                 found.held_s * 1e3);
  }
  auto took = since(start);
  std::fprintf(stderr, "beside it: %.0f tokens decoded and %.1f steps trained "
                       "in a second\n",
               static_cast<double>(loop.tokens()) / took,
               static_cast<double>(loop.steps()) / took);
  nlohmann::json out{{"share_within_10_percent", double(within) / rounds},
                     {"share_within_5_percent", double(within_five) / rounds},
                     {"worst_ratio", worst},
                     {"timing_pairs", task.eval.timing_pairs},
                     {"measure_ms", 1e3 * wall / rounds},
                     {"pause_share", gate.paused_s() / took}};
  std::puts(out.dump().c_str());
}
