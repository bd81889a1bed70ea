#include "fixture.hpp"

#include "runtime/buffer/repair.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;
using namespace swage::test;

namespace {

/// The only queued repair, or null.
const item_row* queued_repair(const bench& b) {
  const item_row* found = nullptr;
  for (auto& [id, row] : b.journal->items())
    if (row.status == item_status::queued)
      found = &row;
  return found;
}

config with_repairs() {
  auto how = small_config();
  how.buffer.retry_probability = 1;
  return how;
}

} // namespace

TEST_CASE("the first of two equal samples wins", "[buffer][submit]") {
  bench b;
  auto one = b.take(1).front();
  CHECK(b.give(one, sample(one.work.id, 0, 1)) == submit_status::accepted);
  CHECK(b.give(one, sample(one.work.id, 0, -1)) == submit_status::duplicate);
  CHECK(b.journal->samples().at({one.work.id, 0}).ret == 1);
  // Still a duplicate after the item is closed and forgotten.
  b.give(one, sample(one.work.id, 1, 1));
  REQUIRE(b.row(one.work.id).status == item_status::discarded);
  CHECK(b.give(one, sample(one.work.id, 1, 1)) == submit_status::duplicate);
}

TEST_CASE("a straggler under an older lease is superseded",
          "[buffer][submit]") {
  bench b;
  auto mine = b.take(1).front();
  b.core->owner_down("a", 1);
  auto theirs = b.take(1, bench::other).front();
  CHECK(b.give(mine, sample(mine.work.id, 0, 1)) == submit_status::superseded);
  CHECK(b.give(theirs, sample(theirs.work.id, 0, 1), bench::other)
        == submit_status::accepted);
}

TEST_CASE("a late sample counts while nobody took over", "[buffer][submit]") {
  bench b;
  auto mine = b.take(1).front();
  b.core->owner_down("a", 1);
  CHECK(b.give(mine, sample(mine.work.id, 0, 1)) == submit_status::accepted);
}

TEST_CASE("another's lease is no licence to submit", "[buffer][submit]") {
  bench b;
  auto mine = b.take(1).front();
  CHECK(b.give(mine, sample(mine.work.id, 0, 1), bench::other)
        == submit_status::superseded);
  CHECK(b.give(mine, sample(mine.work.id, 7, 1)) == submit_status::superseded);
  CHECK(b.give(mine, sample(99, 0, 1)) == submit_status::superseded);
}

TEST_CASE("versions must be the lease's or newer and known",
          "[buffer][submit]") {
  bench b;
  b.attach();
  for (auto& one : b.take(4))
    b.finish(one, {-1, 1});
  b.train();
  auto late = b.take(1).front();
  REQUIRE(late.version == 1);
  auto id = late.work.id;
  CHECK(b.give(late, sample(id, 0, 1, 0)) == submit_status::superseded);
  CHECK(b.give(late, sample(id, 0, 1, 2)) == submit_status::superseded);
  CHECK(b.give(late, sample(id, 0, 1, 1)) == submit_status::accepted);
}

TEST_CASE("staleness counts from the oldest trained token",
          "[buffer][submit]") {
  auto two = sample(1, 0, -1, 5);
  two.turns[0].versions = {{6, 1}, {5, 1}, {3, 0}};
  two.turns.push_back(sample(1, 0, 1, 4).turns[0]);
  // Multi-turn RL trains the first turn only; a repair trains all.
  CHECK(summarize(two, stage_kind::rl_multi, item_kind::task).oldest == 5);
  CHECK(summarize(two, stage_kind::rl_multi, item_kind::repair).oldest == 4);
  CHECK(summarize(two, stage_kind::rl_single, item_kind::task).oldest == 4);
  CHECK(summarize(two, stage_kind::rl_multi, item_kind::task).success);
  two.turns[0].versions.clear();
  CHECK(summarize(two, stage_kind::rl_multi, item_kind::task).dropped);
  // A prompt that is too long for the policy has no tokens and has failed.
  two.turns[1].versions.clear();
  CHECK_FALSE(summarize(two, stage_kind::eval, item_kind::eval).dropped);
}

TEST_CASE("returns that differ too little are no spread", "[buffer][submit]") {
  auto how = small_config({"rl-single"});
  how.buffer.min_spread = 0.5;
  bench b(how);
  auto grants = b.take(4);
  REQUIRE(grants.size() == 2);
  b.finish(grants[0], {1.0, 1.4});
  b.finish(grants[1], {1.0, 1.6});
  CHECK(b.row(grants[0].work.id).reason == discard_reason::no_spread);
  CHECK(b.row(grants[1].work.id).status == item_status::verified);
}

TEST_CASE("groups without spread wait if sampling is static",
          "[buffer][submit]") {
  auto how = small_config();
  how.buffer.dynamic_sampling = false;
  bench b(how);
  auto one = b.take(1).front();
  b.finish(one, {1, 1});
  CHECK(b.row(one.work.id).status == item_status::verified);
}

TEST_CASE("infra samples are dropped and the group joined by key",
          "[buffer][submit]") {
  auto how = small_config();
  how.rollout.group_size = 3;
  bench b(how);
  b.attach();
  auto grants = b.take(6);
  for (auto& one : grants) {
    b.give(one, sample(one.work.id, 2, -1));
    b.give(one, infra_sample(one.work.id, 1));
    b.give(one, sample(one.work.id, 0, 1));
    CHECK(b.row(one.work.id).status == item_status::verified);
  }
  auto trained = b.train();
  REQUIRE(trained.members.size() == 4);
  CHECK(trained.members[0].index == 0);
  CHECK(trained.members[1].index == 2);
}

TEST_CASE("a group with too few judged samples is infra", "[buffer][submit]") {
  bench b;
  auto one = b.take(1).front();
  b.give(one, infra_sample(one.work.id, 0));
  b.give(one, sample(one.work.id, 1, -1));
  CHECK(b.row(one.work.id).reason == discard_reason::infra);
  CHECK(queued_repair(b) == nullptr);
}

TEST_CASE("a group is trained though a repair would need more of it",
          "[buffer][submit]") {
  auto how = small_config();
  how.rollout.group_size = how.buffer.min_group = 3;
  bench b(how);
  auto one = b.take(1).front();
  b.give(one, infra_sample(one.work.id, 0));
  b.give(one, sample(one.work.id, 1, -1));
  b.give(one, sample(one.work.id, 2, 1));
  CHECK(b.row(one.work.id).status == item_status::verified);
}

TEST_CASE("an invalid task closes its item and cancels the rest",
          "[buffer][submit]") {
  bench b;
  auto one = b.take(1).front();
  auto invalid = infra_sample(one.work.id, 0);
  invalid.turns[0].outcome.kind = category::task_invalid;
  CHECK(b.give(one, invalid) == submit_status::accepted);
  CHECK(b.row(one.work.id).reason == discard_reason::task_invalid);
  auto reply = b.core->sync({bench::rollout, {one.lease}, 0, 0}, 0);
  CHECK(reply.cancelled == std::vector<uint64_t>{one.lease});
}

TEST_CASE("a group that failed at every turn is repaired", "[buffer][repair]") {
  bench b(with_repairs());
  auto one = b.take(1).front();
  auto id = one.work.id;
  auto far = sample(id, 1, -1);
  far.turns[0].outcome.kind = category::runtime_crash;
  far.turns[0].feedback = "it crashed";
  b.give(one, sample(id, 0, -1));
  b.give(one, far);
  auto* repair = queued_repair(b);
  REQUIRE(repair);
  CHECK(repair->parent == id);
  CHECK(repair->what.task_id == one.work.task_id);
  CHECK(repair->what.failed_response == far.turns[0].text);
  CHECK(repair->what.feedback == "it crashed");

  // Drawing consumes it, also over a crash.
  b.restart();
  b.held.clear();
  auto drawn = b.take(1).front();
  CHECK(drawn.work.kind == item_kind::repair);
  CHECK(drawn.work.feedback == "it crashed");
  CHECK(queued_repair(b) == nullptr);
  // A failed repair makes no other.
  b.finish(drawn, {-1, -1});
  CHECK(b.row(drawn.work.id).reason == discard_reason::no_spread);
  CHECK(queued_repair(b) == nullptr);
}

TEST_CASE("partial credit makes no repair", "[buffer][repair]") {
  bench b(with_repairs());
  b.finish(b.take(1).front(), {-1, -0.4});
  CHECK(queued_repair(b) == nullptr);
}

TEST_CASE("one turn that got further makes no repair", "[buffer][repair]") {
  bench b(with_repairs());
  auto one = b.take(1).front();
  auto two_turns = sample(one.work.id, 0, -1);
  two_turns.turns.push_back(sample(one.work.id, 0, -0.4).turns[0]);
  b.give(one, two_turns);
  b.give(one, sample(one.work.id, 1, -1));
  CHECK(queued_repair(b) == nullptr);
}

TEST_CASE("the oldest repair leaves a full queue", "[buffer][repair]") {
  auto how = with_repairs();
  how.buffer.retry_capacity = 1;
  how.buffer.max_staleness = 5;
  bench b(how);
  auto grants = b.take(4);
  b.finish(grants[0], {-1, -1});
  auto first = queued_repair(b)->what.id;
  b.finish(grants[1], {-1, -1});
  CHECK(b.row(first).reason == discard_reason::evicted);
  CHECK(queued_repair(b)->parent == grants[1].work.id);
}

TEST_CASE("repairs begin at their step of the stage", "[buffer][repair]") {
  auto how = with_repairs();
  how.buffer.retry_from_step = 1;
  bench b(how);
  b.attach();
  auto grants = b.take(1000);
  b.finish(grants[0], {-1, -1});
  CHECK(queued_repair(b) == nullptr);
  b.finish(grants[1], {-1, 1});
  b.finish(grants[2], {-1, 1});
  b.train();
  b.finish(grants[3], {-1, -1});
  CHECK(queued_repair(b) != nullptr);
}

TEST_CASE("what ran wrongly got further than what crashed",
          "[buffer][repair]") {
  std::vector<category> order = {
    category::infra_worker,          category::compile_no_code,
    category::compile_bad_interface, category::compile_compiler,
    category::runtime_crash,         category::cheating_replay,
    category::correctness_tolerance, category::ok};
  for (size_t i = 1; i < order.size(); ++i)
    CHECK(reach(order[i - 1]) < reach(order[i]));
}
