#include "runtime/verify/build.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/measure.hpp"
#include "tools/bench/fixture.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

// How far from 1 the speedup of an artifact over itself is, while two other
// processes keep two cores busy.

namespace {

using namespace swage;
using namespace swage::bench;

/// Processes that compute and move memory about, as decoding does.
class busy_processes {
public:
  explicit busy_processes(int count) {
    for (int i = 0; i < count; ++i) {
      auto pid = ::fork();
      if (pid == 0)
        work();
      pids_.push_back(pid);
    }
  }

  ~busy_processes() {
    for (auto pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

private:
  [[noreturn]] static void work() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<float> weights(4 << 20, 1.0f), in(2048, 0.5f);
    for ([[maybe_unused]] volatile float sink = 0;;) {
      float sum = 0;
      for (size_t i = 0; i < weights.size(); ++i)
        sum += weights[i] * in[i % in.size()];
      sink = sum;
    }
  }

  std::vector<pid_t> pids_;
};

} // namespace

int main(int argc, char** argv) {
  bool reduced = has_flag(argc, argv, "--reduced");
  int rounds = reduced ? 40 : 100;
  scratch folder;
  auto options = options_in(folder.path);
  busy_processes busy{2};
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
  auto loaded = value_or_exit(judge->load(task));
  auto built = compiler->build(usual_kernel(0), loaded->args);
  if (!built)
    give_up(3, built.error().detail);

  int within = 0, within_five = 0;
  double held = 0, wall = 0, worst = 1;
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
    held += found.held_s;
    wall += found.wall_s;
    std::fprintf(stderr, "%3d: %.3f (%u pairs, %.1f us, %.0f ms, of them "
                         "%.0f held)\n",
                 i, found.times.speedup, found.pairs,
                 found.times.candidate_s * 1e6, found.wall_s * 1e3,
                 found.held_s * 1e3);
  }
  nlohmann::json out{{"share_within_10_percent", double(within) / rounds},
                     {"share_within_5_percent", double(within_five) / rounds},
                     {"worst_ratio", worst},
                     {"measure_ms", 1e3 * wall / rounds},
                     {"pause_share", held / since(start)}};
  std::puts(out.dump().c_str());
}
