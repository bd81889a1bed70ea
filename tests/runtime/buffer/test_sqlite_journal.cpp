#include "fixture.hpp"

#include "runtime/buffer/record.hpp"
#include "runtime/buffer/sqlite_journal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace swage;
using namespace swage::test;

namespace {

/// A folder that is gone afterwards.
struct folder {
  folder() {
    static int count = 0;
    path = std::filesystem::temp_directory_path()
           / fmt::format("swage-journal-{}-{}", ::getpid(), count++);
    std::filesystem::create_directories(path);
  }
  ~folder() { std::filesystem::remove_all(path); }
  std::filesystem::path run_db() const { return path / "run.db"; }
  std::filesystem::path path;
};

std::unique_ptr<sqlite_journal> open(const folder& in,
                                     const sqlite_options& how = {}) {
  auto opened = sqlite_journal::open(in.run_db(), how);
  if (!opened)
    FAIL(opened.error().message);
  return std::move(*opened);
}

item_row some_item(uint64_t id) {
  item_row row;
  row.what.id = id;
  row.what.stage = 2;
  row.what.kind = item_kind::repair;
  row.what.task_id = "task";
  row.what.failed_response = "failed";
  row.what.feedback = "why";
  row.what.attempts = 3;
  row.what.depth = 1;
  row.samples = 2;
  row.parent = id + 1000;
  row.level = 2;
  return row;
}

void store(journal& to, const trajectory& what) {
  to.put(summarize(what, stage_kind::rl_single, item_kind::task), what, true);
}

} // namespace

TEST_CASE("everything durable is loaded as it was written",
          "[buffer][journal]") {
  folder in;
  {
    auto db = open(in);
    db->put_meta("key", "value");
    db->put(some_item(1));
    store(*db, sample(1, 0, -1, 3));
    store(*db, sample(1, 1, 1.5, 4));
    batch_row row{1,
                  2,
                  0xfedcba9876543210,
                  1,
                  1,
                  false,
                  false,
                  {{1, 0, item_kind::repair}, {1, 1, item_kind::repair}}};
    db->put(row);
    row.committed = true;
    row.deliveries = 2;
    db->put(row);
    db->put(stage_row{0, "rl-single", 5, false, true});
    db->put(checkpoint_row{1, 77});
    db->put_epoch(4, bench::learner);
    REQUIRE(db->commit());
  }
  auto db = open(in);
  auto image = db->load();
  REQUIRE(image);
  CHECK(image->meta.at("key") == "value");
  CHECK(image->epoch == 4);
  REQUIRE(image->items.size() == 1);
  auto& item = image->items[0];
  CHECK(item.what.kind == item_kind::repair);
  CHECK(item.what.failed_response == "failed");
  CHECK(item.what.feedback == "why");
  CHECK(item.what.attempts == 3);
  CHECK(item.what.depth == 1);
  CHECK(item.parent == 1001);
  CHECK(item.level == 2);
  REQUIRE(image->samples.size() == 2);
  CHECK(image->samples[0].failed);
  CHECK(image->samples[0].text == "kernel 1 0");
  CHECK(image->samples[0].feedback == "feedback");
  CHECK(image->samples[1].success);
  CHECK(image->samples[1].ret == 1.5);
  CHECK(image->samples[1].oldest == 4);
  CHECK(image->samples[1].kind == category::ok);
  REQUIRE(image->batches.size() == 1);
  CHECK(image->batches[0].hash == 0xfedcba9876543210);
  CHECK(image->batches[0].committed);
  CHECK(image->batches[0].deliveries == 2);
  REQUIRE(image->batches[0].members.size() == 2);
  CHECK(image->batches[0].members[1].index == 1);
  CHECK(image->batches[0].members[1].kind == item_kind::repair);
  REQUIRE(image->stages.size() == 1);
  CHECK(image->stages[0].cut);
  CHECK(image->stages[0].version == 5);
  REQUIRE(image->checkpoints.size() == 1);
  CHECK(image->checkpoints[0].hash == 77);
  auto whole = db->fetch(1, 1);
  REQUIRE(whole);
  CHECK(whole->turns[0].logprobs == std::vector<float>{-0.5f, -0.25f});
}

TEST_CASE("what was not committed is not there", "[buffer][journal]") {
  folder in;
  {
    auto db = open(in);
    db->put(some_item(1));
    CHECK(db->pending());
    CHECK(db->load()->items.size() == 1); // It sees its own writes.
  }
  CHECK(open(in)->load()->items.empty());
}

TEST_CASE("one sample, one item in a batch, one repair a parent",
          "[buffer][journal]") {
  folder in;
  auto db = open(in);
  db->put(some_item(1));
  store(*db, sample(1, 0, 1));
  db->put(batch_row{1, 0, 1, 1, 1, true, false, {{1, 0}}});
  REQUIRE(db->commit());
  store(*db, sample(1, 0, 1));
  CHECK_FALSE(db->commit());
  db->put(batch_row{2, 0, 2, 1, 1, false, false, {{1, 0}}});
  CHECK_FALSE(db->commit());
  auto second = some_item(2);
  second.parent = 1001;
  db->put(second);
  CHECK_FALSE(db->commit());
  // A refused transaction leaves nothing, and the journal usable.
  CHECK(db->load()->batches.size() == 1);
  db->put(some_item(3));
  CHECK(db->commit());
}

TEST_CASE("a judgement stays as it was first written", "[buffer][journal]") {
  folder in;
  auto db = open(in);
  db->put(some_item(1));
  store(*db, sample(1, 0, 1));
  db->put(batch_row{1, 0, 1, 1, 1, false, false, {{1, 0}}});
  db->put(judgement{1, 1, 0, 0.5, -0.25, 0.01, 2, false, {0.25f, 0, 1e-7f}},
          100);
  db->put(judgement{1, 1, 0, 0.9, 0.9, 0.9, 0, true}, 200);
  REQUIRE(db->commit());
  auto found = db->judgements(1);
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().mean_abs == 0.5);
  CHECK(found->front().staleness == 2);
  CHECK_FALSE(found->front().kept);
  CHECK(found->front().weights == std::vector<float>{0.25f, 0, 1e-7f});
  // They go when no kept checkpoint needs them for a redo.
  db->drop_payloads_through(1);
  REQUIRE(db->commit());
  CHECK(db->judgements(1)->front().weights.empty());
  CHECK(db->judgements(1)->front().staleness == 2);
}

TEST_CASE("a run of the schema before is read and upgraded",
          "[buffer][journal]") {
  folder in;
  {
    auto db = open(in);
    db->put(some_item(1));
    store(*db, sample(1, 0, 1));
    db->put(batch_row{1, 0, 1, 1, 1, false, false, {{1, 0}}});
    drift_report drift;
    drift.step = 1;
    drift.delta = 0.5;
    db->put(drift);
    REQUIRE(db->commit());
  }
  {
    auto db = sqlite::database::open(in.run_db(), sqlite::access::write);
    REQUIRE(db);
    REQUIRE(db->script("ALTER TABLE sample DROP COLUMN weights;"
                       "ALTER TABLE drift DROP COLUMN tokens;"
                       "ALTER TABLE drift DROP COLUMN masked_tokens;"
                       "ALTER TABLE drift DROP COLUMN capped_tokens;"
                       "PRAGMA user_version = 1;"));
  }
  auto before = run_record::open(in.run_db())->drift();
  REQUIRE(before);
  REQUIRE(before->size() == 1);
  CHECK(before->front().delta == 0.5);
  CHECK(before->front().tokens == 0);
  auto db = open(in);
  db->put(judgement{1, 1, 0, 0.5, -0.25, 0.01, 2, true, {3}}, 100);
  drift_report drift;
  drift.step = 2;
  drift.masked_tokens = 7;
  db->put(drift);
  REQUIRE(db->commit());
  CHECK(db->judgements(1)->front().weights == std::vector<float>{3});
  auto after = run_record::open(in.run_db())->drift();
  REQUIRE(after);
  REQUIRE(after->size() == 2);
  CHECK(after->back().masked_tokens == 7);
}

TEST_CASE("a full database fails the commit and goes on", "[buffer][journal]") {
  folder in;
  // Room for the tables and a little.
  auto db = open(in, {212'000});
  uint64_t id = 1;
  auto big = sample(1, 0, 1);
  big.turns[0].text = std::string(20'000, 'x');
  for (; id < 100; ++id) {
    db->put(some_item(id));
    big.item = id;
    store(*db, big);
    auto ok = db->commit();
    if (!ok) {
      CHECK(ok.error().code == ec::journal_full);
      CHECK(ok.error().message.find("full") != std::string::npos);
      break;
    }
  }
  REQUIRE(id > 1);
  REQUIRE(id < 100);
  CHECK_FALSE(db->pending());
  CHECK(db->load()->items.size() == id - 1);
  // Room is found: payloads that nobody needs any more.
  for (uint64_t old = 1; old < id; ++old)
    db->drop_payloads_of(old);
  REQUIRE(db->commit());
  db->put_meta("probe", "1");
  CHECK(db->commit());
}

TEST_CASE("a core over a full database names it and recovers",
          "[buffer][journal]") {
  folder in;
  auto how = small_config();
  how.buffer.max_staleness = 50;
  how.buffer.dynamic_sampling = false;
  auto limited = open(in, {250'000});
  auto core = buffer_core::open(std::move(limited), how, small_sets(), 0);
  REQUIRE(core);
  auto& run = **core;
  std::vector<uint64_t> held;
  bool full = false;
  for (int i = 0; i < 100 && !full; ++i) {
    auto reply = run.sync({bench::rollout, held, 2, 0}, 0);
    REQUIRE(run.flush());
    REQUIRE(reply.grants.size() == 1);
    auto& one = reply.grants[0];
    held = {one.lease};
    for (auto index : one.missing) {
      auto big = sample(one.work.id, index, index ? 1 : -1);
      big.turns[0].text = std::string(10'000, 'x');
      run.submit(bench::rollout, one.lease, big, 0);
      full |= !run.flush();
    }
  }
  REQUIRE(full);
  CHECK(run.sync({bench::rollout, held, 2, 0}, 0).grants.empty());
  CHECK(run.progress(0).waiting_for.find("run.db: database or disk is full")
        != std::string::npos);
  core->reset();
  // With room again, the same run goes on.
  auto again = buffer_core::open(open(in), how, small_sets(), 0);
  REQUIRE(again);
  CHECK_FALSE((*again)->sync({bench::rollout, {}, 2, 0}, 0).grants.empty());
  CHECK((*again)->flush());
}

TEST_CASE("a damaged file is called damaged", "[buffer][journal]") {
  folder in;
  {
    std::ofstream out(in.run_db());
    out << std::string(8192, 'z');
  }
  auto opened = sqlite_journal::open(in.run_db());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::corrupt);
  CHECK(opened.error().message.find("run.db") != std::string::npos);
}

TEST_CASE("two writers of one run are refused", "[buffer][journal]") {
  folder in;
  auto first = open(in);
  auto second = sqlite_journal::open(in.run_db());
  REQUIRE_FALSE(second);
  CHECK(second.error().message.find("another process") != std::string::npos);
  first.reset();
  CHECK(sqlite_journal::open(in.run_db()));
}

TEST_CASE("a folder that is not there is named", "[buffer][journal]") {
  auto opened = sqlite_journal::open("/proc/none/run.db");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::io);
  CHECK(opened.error().message.find("/proc/none/run.db")
        != std::string::npos);
}

TEST_CASE("another schema is refused, not guessed", "[buffer][journal]") {
  folder in;
  open(in).reset();
  {
    auto db = sqlite::database::open(in.run_db(), sqlite::access::write);
    REQUIRE(db);
    REQUIRE(db->script("PRAGMA user_version = 9"));
  }
  auto opened = sqlite_journal::open(in.run_db());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::unsupported);
}
