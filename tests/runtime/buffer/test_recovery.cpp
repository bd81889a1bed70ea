#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;
using namespace swage::test;

TEST_CASE("a restart counts what is outstanding again", "[buffer][recovery]") {
  bench b;
  b.attach();
  auto grants = b.take(1000);
  b.finish(grants[0], {-1, 1});
  b.finish(grants[1], {-1, 1});
  b.next(0);
  b.restart();
  b.held.clear();
  // Two are open, two are in a batch that is not committed: none is new.
  auto again = b.take(1000);
  REQUIRE(again.size() == 2);
  CHECK(again[0].work.id == grants[2].work.id);
  CHECK(b.core->progress(0).outstanding == 4);
  CHECK(b.core->progress(0).assigned == 2);
}

TEST_CASE("leases of an earlier process count no more", "[buffer][recovery]") {
  bench b;
  auto mine = b.take(1).front();
  b.restart();
  CHECK(b.give(mine, sample(mine.work.id, 0, 1)) == submit_status::superseded);
  auto reply = b.core->sync({bench::rollout, {mine.lease}, 1, 0}, 0);
  CHECK(reply.cancelled == std::vector<uint64_t>{mine.lease});
  REQUIRE(reply.grants.size() == 1);
  CHECK(reply.grants[0].lease != mine.lease);
}

TEST_CASE("a full disk grants nothing and names the reason",
          "[buffer][journal]") {
  bench b;
  auto mine = b.take(1).front();
  b.journal->full = true;
  CHECK(b.give(mine, sample(mine.work.id, 0, 1))
        == submit_status::journal_full);
  CHECK_FALSE(b.journal->samples().contains({mine.work.id, 0}));
  CHECK(b.take(1000).empty());
  CHECK(b.core->attach(bench::learner, 0).error().code == ec::journal_full);
  auto seen = b.core->progress(0);
  CHECK_FALSE(seen.journal_ok);
  CHECK(seen.waiting_for.find("told to be full") != std::string::npos);

  // Each tick tries again; what was leased is still leased.
  b.core->tick(1);
  CHECK_FALSE(b.core->flush());
  b.journal->full = false;
  CHECK(b.take(1000).empty());
  b.core->tick(2);
  CHECK(b.core->flush());
  CHECK(b.give(mine, sample(mine.work.id, 0, 1)) == submit_status::accepted);
  CHECK(b.take(1000).size() == 3);
}

TEST_CASE("what a lost transaction granted is granted again",
          "[buffer][journal]") {
  bench b;
  b.journal->full = true;
  auto reply = b.core->sync({bench::rollout, {}, 4, 0}, 0);
  REQUIRE(reply.grants.size() == 2);
  REQUIRE_FALSE(b.core->flush());
  CHECK(b.journal->items().empty());
  CHECK(b.core->progress(0).open == 0);
  CHECK(b.core->progress(0).leased == 0);
  b.journal->full = false;
  b.core->tick(1);
  REQUIRE(b.core->flush());
  auto again = b.take(4);
  REQUIRE(again.size() == 2);
  CHECK(again[0].work.task_id == reply.grants[0].work.task_id);
  CHECK(b.give(reply.grants[0], sample(again[0].work.id, 0, 1))
        == submit_status::superseded);
}

TEST_CASE("a sample lost with its transaction can be sent again",
          "[buffer][journal]") {
  bench b;
  auto mine = b.take(1).front();
  b.give(mine, sample(mine.work.id, 0, -1));
  // The last sample ends item and lease, and all of it is taken back.
  b.journal->full = true;
  CHECK(b.give(mine, sample(mine.work.id, 1, 1))
        == submit_status::journal_full);
  b.journal->full = false;
  b.core->tick(1);
  REQUIRE(b.core->flush());
  CHECK(b.give(mine, sample(mine.work.id, 1, 1)) == submit_status::accepted);
  CHECK(b.row(mine.work.id).status == item_status::verified);
}

TEST_CASE("a slow disk grants nothing and takes samples", "[buffer][journal]") {
  bench b;
  auto mine = b.take(1).front();
  b.journal->commit_s = 10;
  b.give(mine, sample(mine.work.id, 0, 1));
  CHECK(b.take(1000).empty());
  CHECK(
    b.core->progress(0).waiting_for
    == "the journal: the journal is slow: the last transaction took 10.0 s");
  b.journal->commit_s = 0;
  CHECK(b.give(mine, sample(mine.work.id, 1, 1)) == submit_status::accepted);
  CHECK(b.take(1000).size() == 4);
}

TEST_CASE("a run is resumed only as it was begun", "[buffer][recovery]") {
  bench b;
  b.how.run.seed = 99;
  b.core.reset();
  auto opened = buffer_core::open(b.journal, b.how, b.sets, 0);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::invalid_config);
  CHECK(opened.error().message.find("run.seed = \"1\", now it is \"99\"")
        != std::string::npos);
  // More steps are no other run.
  b.how.run.seed = 1;
  b.how.learner.steps = 1000;
  CHECK(buffer_core::open(b.journal, b.how, b.sets, 0));
}

TEST_CASE("a journal whose chain does not fit is refused",
          "[buffer][recovery]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  b.train();
  auto row = b.journal->batches().at(1);
  row.members[0].index = 7;
  b.journal->put(row);
  REQUIRE(b.journal->commit());
  auto opened = buffer_core::open(b.journal, b.how, b.sets, 0);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::corrupt);
}

TEST_CASE("nothing of an unfinished transaction survives",
          "[buffer][recovery]") {
  bench b;
  auto one = b.take(1).front();
  b.give(one, sample(one.work.id, 0, -1));
  // The last sample, the item's end and its repair are one transaction.
  b.how.buffer.retry_probability = 1;
  b.restart();
  b.held.clear();
  auto again = b.take(1).front();
  for (uint64_t write = 1;; ++write) {
    b.journal->crash_at(write);
    bool crashed = false;
    try {
      b.give(again, sample(again.work.id, 1, -1));
      b.journal->crash_at(0);
    } catch (const journal_crash&) {
      crashed = true;
    }
    if (!crashed) {
      CHECK(write > 4);
      break;
    }
    b.restart();
    CHECK(b.row(one.work.id).status == item_status::open);
    CHECK(b.journal->samples().size() == 1);
    CHECK(b.journal->items().size() == 1);
    b.held.clear();
    b.how.buffer.max_attempts = 100;
    b.restart();
    again = b.take(1).front();
  }
  CHECK(b.row(one.work.id).reason == discard_reason::no_spread);
  CHECK(b.journal->items().size() == 2);
}
