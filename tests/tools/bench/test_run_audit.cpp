#include "runtime/buffer/hash_chain.hpp"
#include "runtime/buffer/sqlite_journal.hpp"
#include "runtime/store/checkpoint.hpp"
#include "tools/bench/run_audit.hpp"
#include "tools/bench/run_watch.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <unistd.h>

using namespace swage;
using namespace swage::bench;

namespace {

using member = run_facts::member;

void record(run_facts& run, uint32_t stage, std::vector<member> members) {
  auto step = run.batches.size() + 1;
  for (auto& one : members)
    if (one.kind != "example") {
      run.items[one.item].state = "assigned";
      run.items[one.item].step = step;
    }
  run.batches.push_back({step, stage, 0, true, false, std::move(members)});
  run.batches.back().hash = recomputed_chain(run).back();
}

run_facts::item group(std::string state, uint32_t stored,
                      std::string reason = "none") {
  run_facts::item out;
  out.stage = 1;
  out.kind = "task";
  out.state = std::move(state);
  out.reason = std::move(reason);
  out.samples = 2;
  for (uint32_t i = 0; i < stored; ++i)
    out.stored[i] = {100 + i, false, true, 1, 1};
  return out;
}

/// A whole small run: one batch of examples, two of groups, an evaluation.
run_facts whole_run() {
  run_facts run;
  run.stages = {{"sft", 0, true}, {"rl-single", 1, true}, {"eval", 3, true}};
  for (uint64_t id : {11, 12})
    run.items[id] = group("verified", 2);
  run.items[13] = group("discarded", 1, "stage_over");
  auto scored = group("scored", 2);
  scored.stage = 2;
  for (auto& [index, sample] : scored.stored)
    sample.oldest = sample.newest = 3;
  run.items[14] = scored;
  record(run, 0, {{1, 0, "example"}, {2, 1, "example"}});
  record(run, 1, {{11, 0, "task"}, {11, 1, "task"}});
  record(run, 1, {{12, 0, "task"}, {12, 1, "task"}});
  run.checkpoints = {{"v000002", 2, run.batches[1].hash, ""},
                     {"v000003", 3, run.batches[2].hash, ""}};
  return run;
}

constexpr expected_end whole_end{3, 3, 1, 2};

bool mentions(const std::vector<std::string>& faults, const std::string& part) {
  for (auto& one : faults)
    if (one.find(part) != std::string::npos)
      return true;
  return false;
}

/// An empty folder that goes with the object.
struct folder {
  std::filesystem::path path = std::filesystem::temp_directory_path()
                               / ("swage-audit-" + std::to_string(getpid()));

  folder() { std::filesystem::create_directories(path); }
  ~folder() { std::filesystem::remove_all(path); }
};

} // namespace

TEST_CASE("a whole run has no fault", "[bench][audit]") {
  auto run = whole_run();
  CHECK(find_faults(run).empty());
  CHECK(find_unfinished(run, whole_end).empty());
  CHECK(find_losses(run, run).empty());
  auto groups = count_groups(run);
  CHECK(groups.trained == 2);
  CHECK(groups.discarded == 1);
  CHECK(groups.lost == 0);
}

TEST_CASE("a member that was changed breaks the chain", "[bench][audit]") {
  auto run = whole_run();
  run.batches[0].members[1].index = 0;
  CHECK(mentions(find_faults(run), "batch 1 is recorded with hash"));
  run = whole_run();
  std::swap(run.batches[1].members, run.batches[2].members);
  CHECK(mentions(find_faults(run), "batch 2 is recorded with hash"));
}

TEST_CASE("a checkpoint of other batches is found", "[bench][audit]") {
  auto run = whole_run();
  run.checkpoints[0].hash ^= 1;
  CHECK(mentions(find_faults(run), "checkpoint v000002 has chain hash"));
  run = whole_run();
  run.checkpoints[1].step = 9;
  CHECK(mentions(find_faults(run), "the journal ends at 3"));
  run = whole_run();
  run.checkpoints[1].trouble = "its checksum";
  CHECK(mentions(find_faults(run), "its checksum"));
}

TEST_CASE("a gap and a late commit are found", "[bench][audit]") {
  auto run = whole_run();
  run.batches.erase(run.batches.begin() + 1);
  CHECK(mentions(find_faults(run), "step 2 is missing"));
  run = whole_run();
  run.batches[1].committed = false;
  CHECK(mentions(find_faults(run), "step 3 is committed, the one before"));
}

TEST_CASE("a group in two batches is found", "[bench][audit]") {
  auto run = whole_run();
  record(run, 1, {{11, 0, "task"}, {11, 1, "task"}});
  CHECK(mentions(find_faults(run), "group 11 is in the batches 2 and 4"));
  // Examples may come back in the next epoch.
  run = whole_run();
  record(run, 0, {{1, 0, "example"}});
  CHECK(find_faults(run).empty());
}

TEST_CASE("a group that nobody ends is lost", "[bench][audit]") {
  auto lost = [](run_facts::item one) {
    auto run = whole_run();
    run.items[20] = std::move(one);
    return count_groups(run).lost == 1
           && mentions(find_faults(run), "group 20 is lost");
  };
  CHECK(lost(group("open", 2)));
  CHECK(lost(group("discarded", 2)));
  CHECK(lost(group("assigned", 2)));
  CHECK_FALSE(lost(group("open", 1)));
  CHECK_FALSE(lost(group("queued", 0)));
  CHECK_FALSE(lost(group("verified", 2)));
  CHECK_FALSE(lost(group("discarded", 2, "no_spread")));
}

TEST_CASE("a group is trained whole or lost", "[bench][audit]") {
  auto run = whole_run();
  run.items[12].stored[2] = {7, false, true, 1, 1};
  CHECK(count_groups(run).lost == 1);
  run.items[12].stored[2].dropped = true;
  CHECK(count_groups(run).lost == 0);
  // A voided batch trains nothing; its groups must be discarded.
  run.batches.back().voided = true;
  CHECK(count_groups(run).lost == 1);
}

TEST_CASE("what was stored must stay as it was", "[bench][audit]") {
  auto before = whole_run(), after = before;
  after.items[11].stored.erase(1);
  CHECK(mentions(find_losses(before, after), "sample (11, 1) was stored"));
  after = before;
  after.items[14].stored[0].text_hash = 1;
  CHECK(mentions(find_losses(before, after), "sample (14, 0) was stored"));
  after = before;
  after.batches.pop_back();
  CHECK(mentions(find_losses(before, after), "batch 3 was recorded"));
  after = before;
  after.batches[2].committed = false;
  CHECK(mentions(find_losses(before, after), "batch 3 was committed"));
  CHECK(find_losses(run_facts{}, before).empty());
}

TEST_CASE("a run that is over has nothing left to do", "[bench][audit]") {
  auto run = whole_run();
  run.stages[2].over = false;
  CHECK(mentions(find_unfinished(run, whole_end), "not all are over"));
  run = whole_run();
  run.items[11].state = "verified";
  CHECK(mentions(find_unfinished(run, whole_end), "item 11 is verified"));
  run = whole_run();
  run.items[14].stored[1].newest = 2;
  CHECK(mentions(find_unfinished(run, whole_end), "versions 3 to 2"));
  run = whole_run();
  run.items[14].stored.erase(1);
  CHECK(mentions(find_unfinished(run, whole_end), "0 of 1 items"));
  run = whole_run();
  run.checkpoints.pop_back();
  CHECK(mentions(find_unfinished(run, whole_end), "found v000002"));
  auto thrifty = whole_end;
  thrifty.keep_last = 1;
  CHECK(mentions(find_unfinished(whole_run(), thrifty), "v000002 is kept"));
  run = whole_run();
  run.checkpoints[0] = {"v000001", 1, run.batches[0].hash, ""};
  CHECK(find_unfinished(run, thrifty).empty());
  CHECK(mentions(find_unfinished(run_facts{}, whole_end), "no batch"));
}

TEST_CASE("facts are read from a run's own files", "[bench][audit]") {
  folder at;
  {
    auto journal = sqlite_journal::open(at.path / "run.db").value();
    item_row item;
    item.what.id = 5;
    item.what.kind = item_kind::repair;
    item.samples = 1;
    item.status = item_status::assigned;
    item.step = 1;
    journal->put(item);
    trajectory sample;
    sample.turns.resize(1);
    sample_row row;
    row.item = 5;
    row.versioned = true;
    row.oldest = 3;
    row.text_hash = 99;
    journal->put(row, sample, true);
    batch_row batch;
    batch.step = 1;
    batch.committed = true;
    batch.members = {{5, 0, item_kind::repair}};
    batch.hash = chain_next(chain_start, 1, batch.members);
    journal->put(batch);
    journal->put(stage_row{0, "rl-single", 0, true, false});
    journal->put_meta("openings", "4");
    REQUIRE(journal->commit());
    checkpoint_store store{at.path / "checkpoints", 2};
    REQUIRE(store.write({1, batch.hash, "rl-single", {}}, [](auto& into) {
      std::ofstream{into / "weights"} << "bytes";
      return result<void>{};
    }));
  }
  auto found = read_facts(at.path).value();
  CHECK(find_faults(found).empty());
  CHECK(count_groups(found).trained == 1);
  CHECK(found.openings == 4);
  CHECK(found.items[5].kind == "repair");
  CHECK(found.items[5].stored[0].text_hash == 99);
  CHECK(found.items[5].stored[0].oldest == 3);
  REQUIRE(found.checkpoints.size() == 1);
  CHECK(found.checkpoints[0].hash == found.batches[0].hash);

  std::ofstream{at.path / "checkpoints/v000001/weights"} << "other";
  CHECK(
    mentions(find_faults(read_facts(at.path).value()), "checkpoint v000001"));
}

TEST_CASE("a watch says how far a run has come", "[bench][kills]") {
  folder at;
  config how;
  how.run.stages = {"teach", "sft"};
  how.tasks.train = 9;
  how.tasks.taught = 4;
  how.tasks.solutions_per_task = 2;
  how.learner.sft_steps = 4;
  run_watch watch{at.path, how};
  CHECK_FALSE(watch.has_journal());
  CHECK(watch.position() == 0);
  auto journal = sqlite_journal::open(at.path / "run.db").value();
  journal->put(stage_row{0, "teach", 0, false, false});
  item_row item;
  item.what.id = 1;
  journal->put(item);
  trajectory sample;
  sample.turns.resize(1);
  sample_row row;
  row.item = 1;
  journal->put(row, sample, false);
  journal->put_meta("openings", "1");
  REQUIRE(journal->commit());
  CHECK(watch.has_journal());
  CHECK(watch.openings() == 1);
  CHECK(watch.position() == 0.125);
  journal->put(stage_row{0, "teach", 0, true, false});
  REQUIRE(journal->commit());
  CHECK(watch.position() == 1);
  journal->put(stage_row{1, "sft", 0, false, false});
  batch_row batch;
  batch.step = 1;
  batch.stage = 1;
  journal->put(batch);
  REQUIRE(journal->commit());
  CHECK(watch.position() == 1.25);
  CHECK(watch.stage_at(1.25) == "sft");
  CHECK(watch.stage_at(2) == "end");
}
