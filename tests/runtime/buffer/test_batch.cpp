#include "fixture.hpp"

#include "runtime/buffer/hash_chain.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;
using namespace swage::test;

namespace {

std::set<uint64_t> items_of(const batch& what) {
  std::set<uint64_t> ids;
  for (auto& one : what.members)
    ids.insert(one.item);
  return ids;
}

} // namespace

TEST_CASE("a batch waits for enough groups", "[buffer][batch]") {
  bench b;
  b.attach();
  auto grants = b.take(1000);
  b.finish(grants[0], {-1, 1});
  CHECK(b.next(0).status == next_status::nothing);
  CHECK_FALSE(b.core->could_deliver(b.epoch, 0));
  b.finish(grants[1], {-1, 1});
  CHECK(b.core->could_deliver(b.epoch, 0));
  auto reply = b.next(0);
  REQUIRE(reply.status == next_status::ready);
  CHECK(reply.what.step == 1);
  CHECK(reply.what.members.size() == 4);
  CHECK(reply.what.hash == chain_next(0, 1, reply.what.members));
  CHECK(reply.what.progress == 0.25);
  CHECK_FALSE(reply.what.redo);
}

TEST_CASE("asking again returns the same batch", "[buffer][batch]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  auto first = b.next(0).what;
  CHECK(b.next(0).what.hash == first.hash);
  // The next one is not made before this one is committed.
  CHECK(b.next(1).status == next_status::nothing);
  REQUIRE(b.commit(1));
  auto second = b.next(1).what;
  CHECK(second.step == 2);
  CHECK(b.next(0).what.redo);
  for (auto id : items_of(second))
    CHECK_FALSE(items_of(first).contains(id));
}

TEST_CASE("groups with the oldest version are trained first",
          "[buffer][batch]") {
  bench b;
  b.attach();
  auto old = b.take(1000);
  b.finish(old[0], {-1, 1});
  b.finish(old[1], {-1, 1});
  b.train();
  auto fresh = b.take(1000);
  REQUIRE(fresh.size() == 2);
  b.finish(fresh[0], {-1, 1});
  b.finish(fresh[1], {-1, 1});
  b.finish(old[3], {-1, 1});
  // Under `wait` the batch needs old[2] as well: nobody may fall behind.
  CHECK(b.next(1).status == next_status::nothing);
  CHECK(b.core->progress(0).waiting_for
        == "item " + std::to_string(old[2].work.id)
             + ", which would become untrainable (staleness_policy = wait)");
  b.finish(old[2], {-1, 1});
  CHECK(items_of(b.train()) == std::set{old[2].work.id, old[3].work.id});
}

TEST_CASE("under drop an item that fell behind is discarded",
          "[buffer][batch]") {
  auto how = small_config();
  how.buffer.staleness_policy = "drop";
  bench b(how);
  b.attach();
  auto old = b.take(1000);
  b.finish(old[0], {-1, 1});
  b.finish(old[1], {-1, 1});
  b.train();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  b.train();
  CHECK(b.row(old[2].work.id).reason == discard_reason::stale);
  CHECK(b.give(old[2], sample(old[2].work.id, 0, 1))
        == submit_status::superseded);
}

TEST_CASE("a sample too old to train leaves its item open", "[buffer][batch]") {
  auto how = small_config();
  how.buffer.max_staleness = 0;
  bench b(how);
  b.attach();
  auto grants = b.take(4);
  b.core->owner_down("a", 1);
  auto again = b.take(2, bench::other);
  REQUIRE(again.size() == 1);
  b.give(again[0], sample(again[0].work.id, 0, -1), bench::other);
  b.give(again[0], sample(again[0].work.id, 1, 1), bench::other);
  // grants[1] expired and nobody took it: its late samples still count now,
  b.give(grants[1], sample(grants[1].work.id, 0, 1));
  CHECK(b.next(0).status == next_status::nothing);
  b.give(grants[1], sample(grants[1].work.id, 1, -1));
  b.train();
  // and no more once they are a batch behind.
  auto next = b.take(4, bench::other);
  b.core->owner_down("b", 1);
  b.held.clear();
  CHECK(b.give(next[0], sample(next[0].work.id, 0, 1, 0), bench::other)
        == submit_status::superseded);
  CHECK(b.row(next[0].work.id).status == item_status::open);
}

TEST_CASE("a batch that kills its learners is voided", "[buffer][batch]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  auto deadly = b.next(0).what;
  for (int death = 1; death <= 2; ++death) {
    b.attach();
    CHECK_FALSE(b.next(0).what.voided);
    CHECK_FALSE(b.next(0).what.voided); // Asking again is no death.
  }
  b.attach();
  auto reply = b.next(0);
  REQUIRE(reply.status == next_status::ready);
  CHECK(reply.what.step == 1);
  CHECK(reply.what.voided);
  CHECK(reply.what.members.empty());
  CHECK(reply.what.hash == chain_void(0, 1));
  for (auto id : items_of(deadly))
    CHECK(b.row(id).reason == discard_reason::poison);
  // It keeps its number, and the others go on.
  REQUIRE(b.commit(1));
  b.trained = 1;
  auto second = b.train();
  CHECK(second.hash == chain_next(chain_void(0, 1), 2, second.members));
  b.restart();
  CHECK(b.core->progress(0).last_batch == 2);
}

TEST_CASE("a committed batch is never voided", "[buffer][batch]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  b.train();
  for (int death = 0; death < 10; ++death) {
    b.attach();
    CHECK(b.next(0).what.redo);
    CHECK_FALSE(b.next(0).what.voided);
  }
}

TEST_CASE("the hash chain is fixed for all time", "[buffer][batch]") {
  std::vector<batch_member> members = {{1, 0}, {1, 1}, {2, 0}};
  auto first = chain_next(chain_start, 1, members);
  CHECK(first != chain_next(chain_start, 2, members));
  CHECK(first != chain_next(1, 1, members));
  CHECK(chain_void(first, 2) != chain_next(first, 2, {}));
  // A journal written today must be readable tomorrow.
  CHECK(first == 0x74a2fa26e7a7aaab);
  CHECK(chain_void(first, 2) == 0x8baaae720f16051f);
}
