#include "runtime/cluster/membership.hpp"

#include "runtime/config/config_text.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace swage;

namespace {

node_info make_node(const std::string& name, uint64_t incarnation = 1) {
  node_info out;
  out.who = {name, incarnation};
  out.address = name + ":4000";
  out.rollouts = 1;
  out.build = "1";
  out.protocol = 7;
  out.config = 9;
  return out;
}

struct fixture {
  membership core{{.detection_s = 5, .stall_s = 600, .drain_s = 30},
                  {{"head", 1}, "1", 7, 9, "text", {"head", "a", "b"}}};

  beat_reply beat(const std::string& name, double now, bool drained = false,
                  uint64_t incarnation = 1) {
    beat_report out;
    out.who = {name, incarnation};
    out.drained = drained;
    return core.on_beat(out, now).first;
  }
};

} // namespace

TEST_CASE("a node of another program is refused", "[cluster][membership]") {
  fixture f;
  auto other = make_node("a");
  SECTION("by its build") {
    other.build = "2";
  }
  SECTION("by its protocol") {
    other.protocol = 8;
  }
  SECTION("by its configuration") {
    other.config = 8;
  }
  SECTION("by its name") {
    other.who.name = "c";
  }
  auto [reply, effects] = f.core.on_join(other, 0);
  CHECK_FALSE(reply.admitted);
  CHECK_FALSE(reply.reason.empty());
  CHECK(f.core.where().nodes.empty());
  // Said to people, though not each time that it tries again.
  REQUIRE(effects.warnings.size() == 1);
  CHECK(effects.warnings[0].find(reply.reason) != std::string::npos);
  CHECK(f.core.on_join(other, 1).second.warnings.empty());
  CHECK(f.core.on_join(other, 61).second.warnings.size() == 1);
}

TEST_CASE("a refusal names the knobs that differ", "[cluster][membership]") {
  config ours, theirs;
  ours.policy.path = "/runs/new/forked/v000600";
  theirs.policy.path = "/swage/configs/quickstart";
  theirs.learner.steps = 7;
  membership core{
    {}, {{"head", 1}, "1", 7, 9, config_text(ours), {"head", "a"}}};
  auto other = make_node("a");
  other.config = 8;
  auto [reply, effects] = core.on_join(other, 0, config_text(theirs));
  CHECK(reply.reason.find("policy.path is \"/runs/new/forked/v000600\" on the "
                          "head and \"/swage/configs/quickstart\" on node a, "
                          "learner.steps is 100 on the head and 7 on node a")
        != std::string::npos);
  REQUIRE(effects.warnings.size() == 1);
  CHECK(effects.warnings[0].find("policy.path") != std::string::npos);
}

TEST_CASE("missing nodes are named now and then", "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("head"), 0);
  std::vector<double> told;
  std::string last;
  for (double now = 0; now <= 100; ++now) {
    f.beat("head", now);
    for (auto& line : f.core.on_tick(now).notices) {
      told.push_back(now);
      last = line;
    }
    if (now == 60)
      CHECK(f.core.on_join(make_node("a"), now).second.notices.size() == 1);
    if (now > 60)
      f.beat("a", now);
  }
  CHECK(told == std::vector<double>{5, 10, 20, 40, 80});
  CHECK(last.find("missing for 80 s: node b;") != std::string::npos);
  f.core.on_join(make_node("b"), 100);
  CHECK(f.core.on_tick(101).notices.empty());
}

TEST_CASE("who leaves a run that goes on is missed", "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("a"), 0);
  f.core.on_join(make_node("b"), 0);
  CHECK(f.core.on_leave({"a", 1}, "its connection was lost").warnings.size()
        == 1);
  f.core.drain(1);
  auto effects = f.core.on_leave({"b", 1}, "done");
  CHECK(effects.warnings.empty());
  CHECK(effects.lines.size() == 1);
}

TEST_CASE("a change of the map reaches everyone once",
          "[cluster][membership]") {
  fixture f;
  auto joined = f.core.on_join(make_node("a"), 0).first;
  CHECK(joined.admitted);
  CHECK(joined.where.nodes.size() == 1);
  f.core.on_join(make_node("b"), 0);
  beat_report beat;
  beat.who = {"a", 1};
  beat.generation = joined.where.generation;
  auto reply = f.core.on_beat(beat, 1).first;
  CHECK(reply.where.nodes.size() == 2);
  beat.generation = reply.where.generation;
  reply = f.core.on_beat(beat, 2).first;
  CHECK(reply.where.generation == beat.generation);
  CHECK(reply.where.nodes.empty());
}

TEST_CASE("joining twice changes nothing", "[cluster][membership]") {
  fixture f;
  auto first = f.core.on_join(make_node("a"), 0);
  auto again = f.core.on_join(make_node("a"), 1);
  CHECK(again.first.admitted);
  CHECK(again.first.where.generation == first.first.where.generation);
  CHECK(again.second.down.empty());
}

TEST_CASE("a restarted node replaces its earlier self",
          "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("a", 1), 0);
  auto effects = f.core.on_join(make_node("a", 2), 1).second;
  REQUIRE(effects.down.size() == 1);
  CHECK(effects.down[0] == node_id{"a", 1});
  CHECK(f.core.where().nodes.size() == 1);
  CHECK_FALSE(f.beat("a", 2, false, 1).known);
  CHECK(f.beat("a", 2, false, 2).known);
  CHECK_FALSE(f.core.on_join(make_node("a", 1), 3).first.admitted);
  CHECK(f.core.on_leave({"a", 1}, "late news").down.empty());
}

TEST_CASE("a silent node is declared dead", "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("a"), 0);
  f.core.on_join(make_node("b"), 0);
  std::vector<node_id> down;
  for (double now = 1; now <= 7; ++now) {
    f.beat("b", now);
    for (auto& who : f.core.on_tick(now).down)
      down.push_back(who);
  }
  REQUIRE(down.size() == 1);
  CHECK(down[0] == node_id{"a", 1});
  CHECK(f.core.missing() == std::vector<std::string>{"head", "a"});
}

TEST_CASE("the head is not dead for its own silence",
          "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("head"), 0);
  f.core.on_join(make_node("a"), 0);
  f.core.drain(0);
  for (double now = 1; now <= 8; ++now) {
    f.beat("a", now, true);
    CHECK(f.core.on_tick(now).down.empty());
  }
  // The others are told to leave before it does.
  CHECK_FALSE(f.beat("head", 8, true).leave);
  CHECK(f.beat("a", 9, true).leave);
}

TEST_CASE("a late tick buries nobody", "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("a"), 0);
  f.core.on_tick(1);
  CHECK(f.core.on_tick(100).down.empty());
  f.beat("a", 100.5);
  CHECK(f.core.on_tick(101).down.empty());
}

TEST_CASE("a hung thread evicts its node", "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("a"), 0);
  beat_report beat;
  beat.who = {"a", 1};
  beat.actors = {{"rollout", 0, 5, 0, true}};
  for (double now = 0; now <= 600; now += 1)
    CHECK(f.core.on_beat(beat, now).first.evicted.empty());
  SECTION("unless it moves again") {
    beat.actors[0].count = 6;
    CHECK(f.core.on_beat(beat, 601).first.evicted.empty());
    CHECK(f.core.on_beat(beat, 1200).first.evicted.empty());
  }
  SECTION("unless it has nothing to do") {
    beat.actors[0].working = false;
    CHECK(f.core.on_beat(beat, 601).first.evicted.empty());
  }
  SECTION("after the stall time") {
    auto [reply, effects] = f.core.on_beat(beat, 601);
    CHECK(reply.evicted.find("rollout 0") != std::string::npos);
    CHECK(effects.warnings.size() == 1);
    CHECK(f.core.on_beat(beat, 602).second.warnings.empty());
  }
}

TEST_CASE("all drain before anyone leaves, the head last",
          "[cluster][membership]") {
  fixture f;
  f.core.on_join(make_node("head"), 0);
  f.core.on_join(make_node("a"), 0);
  CHECK_FALSE(f.beat("a", 1, true).leave);
  f.core.drain(2);
  CHECK(f.beat("head", 2, true).draining);
  CHECK_FALSE(f.beat("a", 3, false).leave);
  SECTION("in good order") {
    CHECK_FALSE(f.beat("head", 4, true).leave);
    CHECK(f.beat("a", 5, true).leave);
    CHECK_FALSE(f.beat("head", 5, true).leave);
    f.core.on_leave({"a", 1}, "done");
    CHECK(f.beat("head", 6, true).leave);
  }
  SECTION("or at the deadline") {
    CHECK_FALSE(f.beat("a", 31, false).leave);
    CHECK(f.beat("a", 32, false).leave);
    CHECK_FALSE(f.beat("head", 32, true).leave);
    CHECK(f.beat("head", 37, true).leave);
  }
  auto late = f.core.on_join(make_node("b"), 10).first;
  CHECK_FALSE(late.admitted);
  CHECK(late.ending);
}

TEST_CASE("the head may join a run that is ending", "[cluster][membership]") {
  fixture f;
  f.core.drain(0);
  CHECK(f.core.on_join(make_node("head"), 0).first.admitted);
  CHECK(f.beat("head", 1).draining);
  CHECK(f.beat("head", 2, true).leave);
}
