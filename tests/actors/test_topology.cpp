#include "tests/support/topology_walk.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <unistd.h>

using namespace swage;
using namespace swage::test;

namespace {

// Sanitizers make a walk many times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t walks = 40;
#else
constexpr uint64_t walks = 200;
#endif

/// A folder of its own for each walk; in memory where there is such a disk,
/// since every checkpoint is synced.
class scratch {
public:
  scratch() {
    std::filesystem::path shared = "/dev/shm";
    auto root = std::filesystem::exists(shared)
                  ? shared
                  : std::filesystem::temp_directory_path();
    path = root / fmt::format("swage-topology-{}", ::getpid());
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

/// Runs the walk; a failure is told with its trace, but for the first only.
topology_counts walk_to_end(const topology_plan& plan) {
  static uint32_t failures = 0;
  scratch folder;
  try {
    return topology_walk{plan, folder.path}.run();
  } catch (const walk_failed& broken) {
    FAIL_CHECK("walk " << plan.seed << ": " << broken.what() << "\n"
                       << (failures++ == 0 ? broken.trace : "")
                       << "replay it with SWAGE_WALK_SEED=" << plan.seed
                       << " (SWAGE_WALK_TRACE=1 shows every message)");
  }
  return {};
}

} // namespace

TEST_CASE("a run ends in order whatever fails", "[actors][topology]") {
  uint64_t first = 1, count = walks;
  if (auto* seed = std::getenv("SWAGE_WALK_SEED")) {
    first = std::stoull(seed);
    count = 1;
  } else if (auto* runs = std::getenv("SWAGE_WALK_RUNS")) {
    count = std::stoull(runs);
    if (auto* from = std::getenv("SWAGE_WALK_FROM"))
      first = std::stoull(from);
  }
  topology_counts all;
  for (auto seed = first; seed < first + count; ++seed)
    all.add(walk_to_end(nth_plan(seed)));
  fmt::print("{}\n", all.text());
  if (count < walks)
    return;
  // Walks in which nothing happens prove nothing.
  for (auto often : {all.lost, all.twice, all.late, all.regrants})
    CHECK(often > count);
  for (auto some : {all.killed_processes, all.killed_actors, all.cuts,
                    all.stalls, all.restarts, all.redone, all.repairs,
                    all.settled, all.credits_counted})
    CHECK(some > count / 6);
  for (auto rare : {all.killed_heads, all.crashed_commits, all.crashed_steps,
                    all.pauses, all.full_disks, all.replaced, all.voided})
    CHECK(rare > count / 40);
  CHECK(all.fenced > 0);
}

TEST_CASE("the same seed is the same walk", "[actors][topology]") {
  for (uint64_t seed : {5, 8, 13}) {
    std::string traces[2];
    for (auto& trace : traces) {
      scratch folder;
      topology_walk walk{nth_plan(seed), folder.path};
      walk.run();
      trace = walk.trace();
    }
    CHECK(traces[0] == traces[1]);
  }
}

namespace {

/// What does not depend on how the work was shared out: the examples that were
/// trained and how the policy that came of them was scored.
struct taught {
  std::vector<uint64_t> hashes;
  std::map<std::pair<uint64_t, uint32_t>, double> scores;

  friend bool operator==(const taught&, const taught&) = default;
};

taught teach(const topology_plan& plan) {
  scratch folder;
  topology_walk walk{plan, folder.path};
  auto counts = walk.run();
  CHECK(counts.restarts + counts.redone + counts.regrants == 0);
  taught out;
  auto& book = walk.journal();
  auto kind_of = [&](uint32_t stage) { return book.plan()[stage].kind; };
  for (auto& [step, row] : book.batches())
    if (kind_of(row.stage) == stage_kind::sft)
      out.hashes.push_back(row.hash);
  for (auto& [at, row] : book.samples())
    if (book.plan()[book.items().at(at.first).what.stage].name
        == "eval-validation")
      out.scores[at] = row.ret;
  return out;
}

} // namespace

TEST_CASE("counts and nodes change the topology and nothing else",
          "[actors][topology]") {
  const auto first = teach(quiet_plan(layout::alone, 1, 1));
  REQUIRE(first.hashes.size() == 3);
  REQUIRE(first.scores.size() == 4);
  for (uint32_t where = 0; where < num_layouts; ++where)
    for (uint32_t rollouts = 1; rollouts <= 3; ++rollouts)
      for (uint32_t verifiers = 1; verifiers <= 4; ++verifiers) {
        CAPTURE(where, rollouts, verifiers);
        CHECK(teach(quiet_plan(static_cast<layout>(where), rollouts,
                               verifiers))
              == first);
      }
}
