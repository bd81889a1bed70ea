#include "runtime/verify/pool_core.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <map>
#include <set>

using namespace swage;

namespace {

owner who(uint32_t actor) {
  return {"n", 1, actor};
}

verify_request ask(uint32_t actor, uint64_t id) {
  verify_request out;
  out.from = who(actor);
  out.id = id;
  return out;
}

verdict good() {
  verdict out;
  out.kind = category::ok;
  return out;
}

} // namespace

TEST_CASE("two credits a slot and no more", "[verify][pool]") {
  pool_core pool{2};
  CHECK(pool.on_credit(who(0), 0) == 4);
  CHECK(pool.on_credit(who(0), 4) == 0);
  CHECK(pool.on_credit(who(1), 0) == 0); // All are out; shares come back later.
}

TEST_CASE("no more credits than are wanted", "[verify][pool]") {
  pool_core pool{2};
  CHECK(pool.on_credit(who(0), 0, 1) == 1);
  CHECK(pool.on_credit(who(1), 0, 5) == 2);
  CHECK(pool.on_credit(who(1), 2, 5) == 0); // Its share of four.
}

TEST_CASE("an idle owner's credits go to others", "[verify][pool]") {
  pool_core pool{1};
  CHECK(pool.on_credit(who(0), 0) == 2);
  CHECK(pool.on_credit(who(1), 0) == 0);
  CHECK(pool.on_credit(who(0), 0, 0) == 0);
  CHECK(pool.on_credit(who(1), 0) == 2);
}

TEST_CASE("a request sent again is judged once", "[verify][pool]") {
  pool_core pool{1};
  REQUIRE(pool.on_credit(who(0), 0) == 2);
  CHECK(pool.on_verify(ask(0, 1)).start.size() == 1);
  CHECK(pool.on_verify(ask(0, 1)).start.empty());
  CHECK(pool.queued() == 0);
  auto done = pool.on_done(0, good());
  REQUIRE(done.answer.size() == 1);
  CHECK(done.answer[0].reply.credit == 1);
  CHECK(done.start.empty());
  CHECK(pool.on_credit(who(0), 1, 0) == 0);
  CHECK(pool.spare() == 1);
}

TEST_CASE("with more owners than credits none starves", "[verify][pool]") {
  pool_core pool{1};
  std::map<uint32_t, uint32_t> held, served;
  uint64_t id = 0;
  for (int round = 0; round < 60; ++round) {
    for (uint32_t actor = 0; actor < 5; ++actor) {
      if (held[actor] == 0)
        held[actor] += pool.on_credit(who(actor), 0, 9);
      if (held[actor] == 0)
        continue;
      --held[actor];
      pool.on_verify(ask(actor, ++id));
    }
    auto out = pool.on_done(0, good());
    for (auto& answer : out.answer) {
      ++served[answer.to.actor];
      held[answer.to.actor] += answer.reply.credit;
    }
  }
  for (uint32_t actor = 0; actor < 5; ++actor)
    CHECK(served[actor] >= 5);
}

TEST_CASE("a lost credit answer costs nothing", "[verify][pool]") {
  pool_core pool{2};
  CHECK(pool.on_credit(who(0), 0) == 4);
  CHECK(pool.on_credit(who(0), 0) == 4); // It never got the first ones.
}

TEST_CASE("requests beyond the slots wait their turn", "[verify][pool]") {
  pool_core pool{1};
  pool.on_credit(who(0), 0);
  auto out = pool.on_verify(ask(0, 1));
  REQUIRE(out.start.size() == 1);
  CHECK(out.start[0].request.id == 1);
  CHECK(pool.on_verify(ask(0, 2)).start.empty());
  out = pool.on_done(0, good());
  REQUIRE(out.answer.size() == 1);
  CHECK(out.answer[0].reply.id == 1);
  CHECK(out.answer[0].reply.credit == 1);
  REQUIRE(out.start.size() == 1);
  CHECK(out.start[0].request.id == 2);
}

TEST_CASE("a newcomer gets its share as work ends", "[verify][pool]") {
  pool_core pool{2};
  pool.on_credit(who(0), 0);
  for (uint64_t id = 1; id <= 4; ++id)
    pool.on_verify(ask(0, id));
  CHECK(pool.on_credit(who(1), 0) == 0);
  auto out = pool.on_done(0, good());
  REQUIRE(out.answer.size() == 1);
  CHECK(out.answer[0].reply.credit == 0); // Three left: above its new share.
  CHECK(pool.on_credit(who(1), 0) == 1);
}

TEST_CASE("a cancelled request is answered to nobody", "[verify][pool]") {
  pool_core pool{1};
  pool.on_credit(who(0), 0);
  pool.on_verify(ask(0, 1));
  pool.on_verify(ask(0, 2));
  CHECK(pool.on_cancel(who(0), 2).abandon.empty());
  CHECK(pool.queued() == 0);
  auto out = pool.on_cancel(who(0), 1);
  REQUIRE(out.abandon.size() == 1);
  CHECK(pool.on_done(0, good()).answer.empty());
  CHECK(pool.busy() == 0);
}

TEST_CASE("a dead owner frees what it held", "[verify][pool]") {
  pool_core pool{1};
  pool.on_credit(who(0), 0);
  pool.on_verify(ask(0, 1));
  pool.on_verify(ask(0, 2));
  auto out = pool.on_owner_down(who(0));
  CHECK(out.abandon.size() == 1);
  CHECK(pool.queued() == 0);
  pool.on_done(0, good());
  CHECK(pool.on_credit(who(1), 0) == 2);
}

TEST_CASE("credits never exceed twice the slots", "[verify][pool]") {
  rc::check([](const std::vector<uint8_t>& moves) {
    pool_core pool{2};
    std::map<uint32_t, uint32_t> held;
    std::set<uint32_t> running;
    std::set<uint64_t> asked, answered;
    uint64_t id = 0;
    auto note = [&](const pool_effects& out) {
      for (auto& start : out.start)
        RC_ASSERT(running.insert(start.slot).second);
      for (auto& answer : out.answer) {
        RC_ASSERT(answered.insert(answer.reply.id).second);
        held[answer.to.actor] += answer.reply.credit;
      }
    };
    for (auto move : moves) {
      const uint32_t actor = move % 3;
      if (move % 2 == 0) {
        held[actor] += pool.on_credit(who(actor), held[actor], move / 32);
      } else if (held[actor] > 0) {
        --held[actor];
        asked.insert(++id);
        note(pool.on_verify(ask(actor, id)));
      } else if (!running.empty()) {
        auto slot = *running.begin();
        running.erase(running.begin());
        note(pool.on_done(slot, good()));
      }
      uint32_t total = pool.busy() + static_cast<uint32_t>(pool.queued());
      for (auto& [who_holds, n] : held)
        total += n;
      RC_ASSERT(total <= 4u);
    }
    RC_ASSERT(asked.size()
              == answered.size() + pool.busy() + pool.queued());
  });
}
