#include "runtime/verify/engine.hpp"
#include "tools/bench/fixture.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// What a candidate costs beyond its compiler and its timing, in CPU time of
// all processes; what an answer from the cache costs; and how many candidates
// one and two verifiers judge in a second, compiler and timing included.

namespace {

using namespace swage;
using namespace swage::bench;

void must_be_right(const verdict& outcome) {
  if (!outcome.ok())
    give_up(3, fmt::format("a right kernel was judged {}: {}",
                           to_string(outcome.kind), outcome.detail));
}

/// CPU seconds that judging each candidate once takes.
double cpu_of_round(engine& with, const task& what, uint32_t count) {
  auto before = cpu_of_all();
  for (uint32_t i = 0; i < count; ++i)
    must_be_right(with.verify(what, {"", usual_kernel(i)}, {}));
  return cpu_of_all() - before;
}

double overhead_ms(const scratch& folder, uint32_t count) {
  auto options = options_in(folder.path / "overhead");
  options.cache_verdicts = false;
  auto engine = value_or_exit(engine::start(options));
  auto task = usual_task();
  task.eval.measure = false;
  // The first round compiles, the second finds the artifacts.
  auto with_compiler = cpu_of_round(*engine, task, count);
  auto without = cpu_of_round(*engine, task, count);
  std::fprintf(stderr, "%u candidates: %.1f ms each with the compiler, "
                       "%.1f ms without\n",
               count, 1e3 * with_compiler / count, 1e3 * without / count);
  return 1e3 * without / count;
}

double cached_ms(const scratch& folder, uint32_t count) {
  auto engine = value_or_exit(engine::start(options_in(folder.path / "cached")));
  auto task = usual_task();
  task.eval.measure = false;
  candidate who{"", usual_kernel(0)};
  must_be_right(engine->verify(task, who, {}));
  auto start = steady::now();
  for (uint32_t i = 0; i < count; ++i)
    if (!engine->verify(task, who, {}).cached)
      give_up(3, "a repeated answer did not come from the cache");
  return 1e3 * since(start) / count;
}

double candidates_per_second(const scratch& folder, uint32_t engines,
                             uint32_t count) {
  std::vector<std::unique_ptr<engine>> all;
  auto task = usual_task();
  for (uint32_t i = 0; i < engines; ++i) {
    all.push_back(value_or_exit(engine::start(
      options_in(folder.path / fmt::format("rate-{}", engines)))));
    // Everything that starts once has started.
    must_be_right(all.back()->verify(
      task, {"", usual_kernel(uint64_t{1'000'000} * engines + i)}, {}));
  }
  auto start = steady::now();
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < engines; ++i)
    threads.emplace_back([&, i] {
      for (uint32_t k = i; k < count; k += engines)
        must_be_right(all[i]->verify(
          task, {"", usual_kernel(uint64_t{10'000} * engines + k)}, {}));
    });
  threads.clear();
  return count / since(start);
}

} // namespace

int main(int argc, char** argv) {
  bool reduced = has_flag(argc, argv, "--reduced");
  uint32_t count = reduced ? 30 : 200;
  scratch folder;
  nlohmann::json out;
  out["overhead_ms"] = overhead_ms(folder, count);
  out["cached_ms"] = cached_ms(folder, 2000);
  out["candidates_per_second"] = {candidates_per_second(folder, 1, count),
                                  candidates_per_second(folder, 2, count)};
  std::puts(out.dump().c_str());
}
