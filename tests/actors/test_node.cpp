#include "tests/support/cluster.hpp"
#include "tests/support/counting_policy.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace swage;
using test::cluster;

TEST_CASE("a node alone wires what runs in it", "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  CHECK(head.rollout->wiring.buffer == head.here.buffer);
  CHECK(head.rollout->wiring.weights == head.here.publisher);
  CHECK(head.rollout->wiring.pools.empty());
  CHECK_FALSE(head.outcome->ended());
}

TEST_CASE("nodes are wired to each other in both directions",
          "[actors][node]") {
  cluster c;
  SECTION("when the head is there first") {
    auto head = c.start_head();
    auto a = c.start_worker("a");
    c.sim.advance(2.5);
    CHECK(a.rollout->wiring.buffer == head.here.buffer);
    CHECK(a.rollout->wiring.weights == head.here.publisher);
    REQUIRE(a.rollout->wiring.pools.size() == 1);
    REQUIRE(head.rollout->wiring.pools.size() == 1);
    CHECK(head.rollout->wiring.pools[0].pool == a.here.pool);
    CHECK(head.rollout->wiring.pools[0].where == a.who);
  }
  SECTION("when the head comes late") {
    auto a = c.start_worker("a");
    auto b = c.start_worker("b");
    c.sim.advance(10);
    CHECK_FALSE(a.rollout->wiring.buffer);
    auto head = c.start_head();
    c.sim.advance(3);
    CHECK(a.rollout->wiring.buffer == head.here.buffer);
    CHECK(a.rollout->wiring.pools.size() == 2);
    CHECK(b.rollout->wiring.pools.size() == 2);
    CHECK(head.rollout->wiring.pools.size() == 2);
  }
}

TEST_CASE("the learner knows the rollouts of all nodes", "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  CHECK(head.learner_wired->rollouts == head.here.rollouts);
  auto a = c.start_worker("a");
  c.sim.advance(3);
  CHECK(head.learner_wired->rollouts.size() == 2);
  CHECK(head.learner_wired->weights == head.here.publisher);
  c.kill(a);
  CHECK(head.learner_wired->rollouts == head.here.rollouts);
}

TEST_CASE("nobody is wired again without a change", "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a");
  c.sim.advance(5);
  auto before = a.rollout->wired;
  c.sim.advance(20);
  CHECK(a.rollout->wired == before);
}

TEST_CASE("a dead node's handles and leases are dropped",
          "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a");
  c.sim.advance(3);
  REQUIRE(head.rollout->wiring.pools.size() == 1);
  c.kill(a);
  CHECK(head.rollout->wiring.pools.empty());
  CHECK(c.buffer.down == std::vector<node_id>{a.who});
  auto again = c.start_worker("a", 2);
  c.sim.advance(3);
  REQUIRE(head.rollout->wiring.pools.size() == 1);
  CHECK(head.rollout->wiring.pools[0].pool == again.here.pool);
  CHECK(again.rollout->wiring.buffer == head.here.buffer);
}

TEST_CASE("a node of another configuration ends with code 2",
          "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a", 1, 10);
  CHECK(a.outcome->ended());
  CHECK(a.outcome->code() == 2);
  CHECK(a.outcome->reason().find("configuration") != std::string::npos);
  CHECK_FALSE(a.rollout->wiring.buffer);
}

TEST_CASE("nodes find a head that was started again", "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a");
  c.sim.advance(3);
  c.kill(head);
  CHECK_FALSE(a.rollout->wiring.buffer);
  c.sim.advance(10);
  CHECK_FALSE(a.outcome->ended());
  auto next = c.start_head(2);
  c.sim.advance(3);
  CHECK(a.rollout->wiring.buffer == next.here.buffer);
  CHECK(next.rollout->wiring.pools.size() == 1);
}

TEST_CASE("a head that stays away ends its nodes", "[actors][node]") {
  cluster c;
  auto a = c.start_worker("a");
  c.sim.advance(99);
  CHECK_FALSE(a.outcome->ended());
  c.sim.advance(3);
  CHECK(a.outcome->ended());
  CHECK(a.outcome->code() == stalled_exit);
}

TEST_CASE("a node that waits for its head says so", "[actors][node]") {
  cluster c;
  auto a = c.start_worker("a");
  c.sim.advance(45);
  auto& told = c.consoles["a"];
  REQUIRE(told.size() == 4); // After 5, 10, 20 and 40 seconds.
  CHECK(told.back().find("nobody listens at head:1") != std::string::npos);
  auto head = c.start_head();
  c.sim.advance(3);
  CHECK(told.back() == "joined the run at head:1");
  CHECK(c.console.back().starts_with("node a joined"));
  c.kill(head);
  CHECK(told.back().find("is gone") != std::string::npos);
}

TEST_CASE("a stop drains everyone and ends the head last",
          "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a");
  c.sim.advance(3);
  a.rollout->may_drain = false;
  c.sim.tell(head.here.coordinator, stop_atom_v);
  c.sim.advance(2.5);
  CHECK(c.buffer.drained);
  CHECK(a.rollout->drain_asked);
  CHECK(head.rollout->drain_asked);
  CHECK_FALSE(a.outcome->ended());
  CHECK_FALSE(head.outcome->ended());
  c.sim.advance(c.settings.faults.drain_timeout_s);
  CHECK(a.outcome->ended());
  CHECK(a.outcome->code() == 0);
  c.sim.advance(3);
  CHECK(head.outcome->ended());
  CHECK(head.outcome->code() == 0);
}

TEST_CASE("the run ends when all stages and the learner did",
          "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  c.buffer.status.progress.over = true;
  c.sim.advance(5);
  CHECK_FALSE(head.outcome->ended());
  head.learner->set(std::nullopt);
  c.sim.advance(5);
  CHECK(head.outcome->ended());
  CHECK(head.outcome->code() == 0);
}

TEST_CASE("a head that was started again ends a saved run", "[actors][node]") {
  cluster c;
  auto head = c.start_head(2);
  c.buffer.status.progress.over = true;
  c.buffer.status.progress.saved = true; // And the learner is gone since.
  c.sim.advance(5);
  CHECK(head.outcome->ended());
  CHECK(head.outcome->code() == 0);
}

TEST_CASE("a failed learner ends its process for a restart",
          "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a");
  c.sim.advance(3);
  a.learner->set("out of memory");
  c.sim.advance(2);
  CHECK(a.outcome->code() == 3);
  CHECK(c.buffer.down == std::vector<node_id>{a.who});
  CHECK_FALSE(head.outcome->ended());
}

TEST_CASE("an actor that dies takes its process with it",
          "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  c.sim.kill(head.here.rollouts[0]);
  CHECK(head.outcome->ended());
  CHECK(head.outcome->code() == 3);
  CHECK(head.outcome->reason().find("rollout 0") != std::string::npos);
}

TEST_CASE("a hung thread ends its process", "[actors][node]") {
  cluster c;
  auto head = c.start_head();
  auto a = c.start_worker("a");
  auto counter = a.progress->add("rollout", 0);
  c.sim.advance(3);
  busy_scope busy{*counter};
  c.sim.advance(90);
  CHECK_FALSE(a.outcome->ended());
  c.sim.advance(15);
  CHECK(a.outcome->code() == 3);
}

TEST_CASE("a stalled run says why and ends", "[actors][coordinator]") {
  cluster c;
  auto head = c.start_head();
  c.buffer.status.progress.waiting_for = "a rollout";
  c.buffer.status.progress.waiting_s = 50;
  c.sim.advance(3);
  CHECK(c.console.back().find("a rollout") != std::string::npos);
  CHECK(c.console.back().find("after 100 s") != std::string::npos);
  CHECK_FALSE(head.outcome->ended());
  c.buffer.status.progress.waiting_s = 101;
  c.sim.advance(10);
  CHECK(head.outcome->ended());
  CHECK(head.outcome->code() == stalled_exit);
  CHECK(head.outcome->reason().find("stalled") != std::string::npos);
  CHECK(c.buffer.end == head.outcome->reason());
}

TEST_CASE("samples without spread are told in time", "[actors][coordinator]") {
  cluster c;
  auto head = c.start_head();
  auto& now = c.buffer.status.progress;
  now.name = "rl-single";
  now.barren_bound = 4096;
  now.barren = 1023;
  now.barren_outcomes = "98 % compile_error:no_code, 2 % ok";
  c.sim.advance(3);
  auto told = [&] {
    return std::count_if(c.console.begin(), c.console.end(), [](auto& line) {
      return line.find("98 % compile_error:no_code") != std::string::npos
             && line.find("after 4096") != std::string::npos;
    });
  };
  CHECK(told() == 0);
  now.barren = 1024;
  c.sim.advance(3);
  CHECK(told() == 1);
  // The next batch is as dear: that is known.
  now.barren = 0;
  c.sim.advance(3);
  now.barren = 2000;
  c.sim.advance(3);
  CHECK(told() == 1);
  now.stage = 1;
  c.sim.advance(3);
  CHECK(told() == 2);
}

TEST_CASE("a run that cannot go on ends at once", "[actors][coordinator]") {
  cluster c;
  auto head = c.start_head();
  c.buffer.status.progress.waiting_for = "an example";
  c.buffer.status.progress.stuck = true;
  c.sim.advance(3);
  CHECK(head.outcome->code() == stalled_exit);
  CHECK(head.outcome->reason().find("cannot go on") != std::string::npos);
}

TEST_CASE("an evaluation's version is pinned while it runs",
          "[actors][coordinator]") {
  cluster c;
  auto head = c.start_head();
  auto publish = [&](uint64_t version) {
    snapshot weights;
    weights.what.version = version;
    weights.data = std::make_shared<std::vector<std::byte>>();
    weights.what.checksum = checksum(*weights.data);
    c.sim.tell(head.here.publisher, publish_atom_v, local_snapshot{weights});
  };
  auto kept = [&](uint64_t version) {
    auto pending = c.sim.start(head.here.publisher, local_atom_v, version);
    c.sim.run();
    bool out = false;
    std::move(pending).receive([&](local_snapshot&) { out = true; },
                               [](caf::error&) {});
    return out;
  };
  c.buffer.status.pinned = true;
  c.buffer.status.version = 1;
  c.sim.advance(2);
  publish(1);
  c.sim.advance(2);
  publish(2);
  CHECK(kept(1));
  c.buffer.status.pinned = false;
  c.sim.advance(2);
  CHECK_FALSE(kept(1));
  CHECK(kept(2));
}

TEST_CASE("a pin outlives a lost connection and ends in time",
          "[actors][coordinator]") {
  cluster c;
  auto head = c.start_head();
  auto& core = test::state_of<publisher_state>(head.here.publisher).core();
  auto wire = [&](uint64_t generation, publisher_actor weights) {
    c.sim.tell(head.here.coordinator, wire_atom_v,
               coordinator_wiring{generation, head.here.buffer, weights});
    c.sim.advance(2);
  };
  auto publish = [&](uint64_t version) {
    c.sim.tell(head.here.publisher, publish_atom_v,
               local_snapshot{test::tiny_snapshot(version)});
  };
  publish(1);
  c.buffer.status.pinned = true;
  c.buffer.status.version = 1;
  c.sim.advance(2);
  wire(100, {});
  wire(101, head.here.publisher);
  publish(2);
  CHECK(core.kept() == 2);
  wire(102, {});
  c.buffer.status.pinned = false;
  c.sim.advance(2);
  wire(103, head.here.publisher);
  CHECK(core.kept() == 1);
}

TEST_CASE("a stage that outruns its time is ended once",
          "[actors][coordinator]") {
  cluster c;
  c.settings.run.time_limit_s = 60;
  auto head = c.start_head();
  c.buffer.status.progress.kind = stage_kind::rl_single;
  c.sim.advance(58);
  CHECK(c.buffer.ended_stages == 0);
  c.sim.advance(10);
  CHECK(c.buffer.ended_stages == 1);
}
