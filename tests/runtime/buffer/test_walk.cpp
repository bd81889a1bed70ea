#include "world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace swage;
using namespace swage::test;

namespace {

// Sanitizers make a walk eight times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t walks = 250;
#else
constexpr uint64_t walks = 1500;
#endif

walk nth_walk(uint64_t seed) {
  constexpr uint32_t groups[] = {1, 2, 3}, staleness[] = {0, 1, 3};
  walk how;
  how.seed = seed;
  how.groups_per_batch = groups[seed % 3];
  how.max_staleness = staleness[seed / 3 % 3];
  how.long_plan = seed % 5 == 0;
  return how;
}

void add(walk_counts& to, const walk_counts& one) {
  to.events += one.events;
  to.crashes += one.crashes;
  to.redone += one.redone;
  to.voided += one.voided;
  to.fenced += one.fenced;
  to.repairs += one.repairs;
  to.duplicates += one.duplicates;
  to.superseded += one.superseded;
  to.full += one.full;
  to.stale += one.stale;
  to.no_spread += one.no_spread;
  to.evicted += one.evicted;
  to.judged_again += one.judged_again;
  to.regrants += one.regrants;
}

void show(const walk_counts& x) {
  fmt::print("events {} crashes {} redone {} voided {} fenced {} repairs {} "
             "duplicates {} superseded {} full {} stale {} no_spread {} "
             "evicted {} judged_again {} regrants {}\n",
             x.events, x.crashes, x.redone, x.voided, x.fenced, x.repairs,
             x.duplicates, x.superseded, x.full, x.stale, x.no_spread,
             x.evicted, x.judged_again, x.regrants);
}

/// Runs the walks from `first` on, or the one that SWAGE_WALK_SEED names.
walk_counts run_walks(uint64_t first, uint64_t count,
                      const std::filesystem::path& folder = {}) {
  if (auto* seed = std::getenv("SWAGE_WALK_SEED")) {
    first = std::stoull(seed);
    count = 1;
  } else if (auto* runs = std::getenv("SWAGE_WALK_RUNS");
             runs && folder.empty())
    count = std::stoull(runs);
  walk_counts all;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    auto how = nth_walk(seed);
    if (!folder.empty())
      how.run_db = folder / fmt::format("run-{}.db", seed);
    try {
      add(all, world(how).run());
    } catch (const std::exception& broken) {
      FAIL("walk " << seed << ": " << broken.what() << " (replay it with "
                   << "SWAGE_WALK_SEED=" << seed << ")");
    }
  }
  return all;
}

} // namespace

TEST_CASE("a batch is trained once whatever dies", "[buffer][recovery]") {
  auto all = run_walks(1, walks);
  show(all);
  if (std::getenv("SWAGE_WALK_SEED") || std::getenv("SWAGE_WALK_RUNS"))
    return;
  // A walk in which nothing happens proves nothing.
  CHECK(all.crashes > walks);
  CHECK(all.redone > walks);
  CHECK(all.voided > walks / 20);
  CHECK(all.fenced > walks / 5);
  CHECK(all.repairs > walks / 5);
  CHECK(all.duplicates > walks);
  CHECK(all.superseded > walks);
  CHECK(all.full > walks / 5);
  CHECK(all.no_spread > walks);
  CHECK(all.evicted > walks / 20);
  CHECK(all.judged_again > walks / 5);
  CHECK(all.regrants > walks);
}

TEST_CASE("the same holds over a real database", "[buffer][recovery]") {
  auto folder = std::filesystem::temp_directory_path()
                / fmt::format("swage-walk-{}", ::getpid());
  std::filesystem::create_directories(folder);
  auto all = run_walks(1, 6, folder);
  std::filesystem::remove_all(folder);
  show(all);
}
