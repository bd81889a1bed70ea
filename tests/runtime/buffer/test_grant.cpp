#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace swage;
using namespace swage::test;

TEST_CASE("no more items than the bound are outstanding",
          "[buffer][admission]") {
  auto how = small_config();
  how.buffer.max_staleness = GENERATE(0u, 1u, 3u);
  bench b(how);
  auto bound = (how.buffer.max_staleness + 1) * how.buffer.groups_per_batch;
  CHECK(b.take(1000).size() == bound);
  CHECK(b.take(1000).empty());
  CHECK_FALSE(b.core->could_grant());
  CHECK(b.core->progress(0).outstanding == bound);
}

TEST_CASE("staleness zero still trains one batch after another",
          "[buffer][admission]") {
  auto how = small_config();
  how.buffer.max_staleness = 0;
  bench b(how);
  b.attach();
  for (uint64_t step = 1; step <= 3; ++step) {
    auto grants = b.take(1000);
    REQUIRE(grants.size() == 2);
    for (auto& one : grants) {
      CHECK(one.version == step - 1);
      b.finish(one, {-1, 1});
    }
    CHECK(b.train().step == step);
  }
}

TEST_CASE("a discarded group frees its slot at once", "[buffer][admission]") {
  bench b;
  auto grants = b.take(1000);
  b.finish(grants[0], {1, 1});
  CHECK(b.row(grants[0].work.id).reason == discard_reason::no_spread);
  CHECK(b.take(1000).size() == 1);
}

TEST_CASE("want is met by whole items only", "[buffer][grant]") {
  bench b;
  CHECK(b.take(0).empty());
  CHECK(b.take(1).size() == 1);
  CHECK(b.take(3).size() == 2);
}

TEST_CASE("an open item is granted before a new one", "[buffer][grant]") {
  bench b;
  auto first = b.take(1).front();
  b.give(first, sample(first.work.id, 1, -1));
  b.core->owner_down("a", 1);
  b.held.clear();
  auto again = b.take(1, bench::other).front();
  CHECK(again.work.id == first.work.id);
  CHECK(again.work.attempts == 2);
  CHECK(again.missing == std::vector<uint32_t>{0});
  CHECK(again.lease != first.lease);
}

TEST_CASE("granting again is allowed when the bound is reached",
          "[buffer][grant]") {
  bench b;
  auto grants = b.take(1000);
  b.held.clear(); // Their reply was lost: the next sync names none of them.
  auto again = b.take(1000);
  REQUIRE(again.size() == grants.size());
  CHECK(again[0].work.id == grants[0].work.id);
}

TEST_CASE("an item granted too often is discarded", "[buffer][grant]") {
  auto how = small_config();
  how.buffer.max_attempts = 3;
  bench b(how);
  auto id = b.take(1).front().work.id;
  for (int i = 0; i < 2; ++i) {
    b.held.clear();
    CHECK(b.take(1).front().work.id == id);
  }
  b.held.clear();
  CHECK(b.take(1).front().work.id != id);
  CHECK(b.row(id).reason == discard_reason::attempts);
}

TEST_CASE("a lease lives as long as it is renewed", "[buffer][lease]") {
  bench b;
  b.take(1);
  for (int second = 1; second < 200; ++second) {
    b.now = second;
    b.core->tick(b.now);
    if (second % 20 == 0)
      b.take(0);
  }
  CHECK(b.core->progress(b.now).leased == 1);
  for (int second = 200; second < 262; ++second) {
    b.now = second;
    b.core->tick(b.now);
  }
  CHECK(b.core->progress(b.now).leased == 0);
  CHECK(b.core->progress(b.now).open == 1);
}

TEST_CASE("a late tick extends every deadline", "[buffer][lease]") {
  bench b;
  b.core->tick(0);
  b.take(1);
  // The process slept: its clients' renewals wait unread.
  b.now = 500;
  b.core->tick(b.now);
  CHECK(b.core->progress(b.now).leased == 1);
  for (; b.now < 570; ++b.now)
    b.core->tick(b.now);
  CHECK(b.core->progress(b.now).leased == 0);
}

TEST_CASE("a restarted process loses what it held", "[buffer][lease]") {
  bench b;
  auto lost = b.take(1).front();
  owner reborn{"a", 2, 0};
  CHECK(b.take(1, reborn).front().work.id == lost.work.id);
  // The process that was replaced gets nothing and is told to stop.
  auto reply = b.core->sync({bench::rollout, {lost.lease}, 10, 0}, 0);
  CHECK(reply.grants.empty());
  CHECK(reply.draining);
  CHECK(reply.cancelled == std::vector<uint64_t>{lost.lease});
}

TEST_CASE("an expired lease revives while nobody took over",
          "[buffer][lease]") {
  bench b;
  auto mine = b.take(1).front();
  for (; b.now < 100; ++b.now)
    b.core->tick(b.now);
  REQUIRE(b.core->progress(b.now).leased == 0);
  auto reply = b.core->sync({bench::rollout, {mine.lease}, 0, 0}, b.now);
  CHECK(reply.cancelled.empty());
  CHECK(b.core->progress(b.now).leased == 1);
}

TEST_CASE("bytes stop new items but no first batch", "[buffer][admission]") {
  auto how = small_config();
  how.buffer.max_buffered_bytes = 1;
  bench b(how);
  auto grants = b.take(1000);
  REQUIRE(grants.size() == 4); // Nothing is buffered yet.
  b.finish(grants[0], {-1, 1});
  b.finish(grants[1], {1, 1}); // Its slot is free again, but the bytes are not.
  CHECK(b.take(1000).empty());
  b.finish(grants[2], {-1, -1});
  // One group is verified, one is open: short of nothing for a first batch.
  CHECK(b.take(1000).empty());
  b.finish(grants[3], {1, 1});
  CHECK(b.take(1000).size() == 1);
}

TEST_CASE("an endless supply without spread is a named stall",
          "[buffer][admission]") {
  auto how = small_config();
  how.buffer.max_rollouts_per_batch = 8;
  bench b(how);
  for (int round = 0; round < 10; ++round)
    for (auto& one : b.take(2))
      b.finish(one, {1, 1});
  CHECK(b.core->progress(0).open == 0);
  auto told = "a group with spread: 8 samples since batch 0 gave none (100 % "
              "ok); it can be resumed with a larger "
              "buffer.max_rollouts_per_batch";
  CHECK(b.core->progress(0).waiting_for == told);
  CHECK(b.core->progress(0).stuck);
  b.restart();
  CHECK(b.take(2).empty());
  CHECK(b.core->progress(0).waiting_for == told);
}

TEST_CASE("samples without spread are told by category",
          "[buffer][admission]") {
  auto how = small_config();
  how.buffer.max_rollouts_per_batch = 8;
  bench b(how);
  for (double score : {1, -1, -1})
    for (auto& one : b.take(2))
      b.finish(one, {score, score});
  auto seen = b.core->progress(0);
  CHECK(seen.barren == 6);
  CHECK(seen.barren_bound == 8);
  CHECK(seen.barren_outcomes == "67 % compile_error:compiler, 33 % ok");
  CHECK_FALSE(seen.stuck);
}

TEST_CASE("failures of the stage before cost no batch", "[buffer][admission]") {
  auto how = small_config({"rft", "rl-single"});
  how.buffer.max_rollouts_per_batch = 4;
  bench b(how);
  while (b.core->progress(0).name == "rft")
    for (auto& one : b.take(2))
      b.finish(one, {-1, -1});
  CHECK(b.core->progress(0).barren == 0);
  CHECK_FALSE(b.core->progress(0).stuck);
  CHECK(b.take(2).size() == 1);
}

TEST_CASE("a draining run grants nothing", "[buffer][grant]") {
  bench b;
  b.core->drain();
  auto reply = b.core->sync({bench::rollout, {}, 10, 0}, 0);
  CHECK(reply.draining);
  CHECK(reply.grants.empty());
  b.attach();
  CHECK(b.next(0).status == next_status::run_over);
}

TEST_CASE("a restarted run draws what it would have drawn", "[buffer][grant]") {
  bench steady, restarted;
  for (int i = 0; i < 12; ++i) {
    auto a = steady.take(1).front();
    restarted.restart();
    restarted.held.clear();
    auto b = restarted.take(1).front();
    CHECK(a.work.id == b.work.id);
    CHECK(a.work.task_id == b.work.task_id);
    // Without spread, so that each is discarded and another one drawn.
    steady.finish(a, {1, 1});
    restarted.finish(b, {1, 1});
  }
}

TEST_CASE("why a run ended is kept until it is opened again",
          "[buffer][grant]") {
  bench b;
  b.core->drain("it waits for a rollout");
  REQUIRE(b.core->flush());
  CHECK(b.journal->load()->meta.at("ended") == "it waits for a rollout");
  b.restart();
  CHECK(b.journal->load()->meta.at("ended").empty());
}
