#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace swage;
using namespace swage::test;

namespace {

/// Answers every grant until the stage is another one.
void work_through(bench& b, std::vector<double> scores) {
  auto stage = b.core->progress(0).stage;
  for (int i = 0; i < 1000 && b.core->progress(0).stage == stage; ++i)
    for (auto& one : b.take(4))
      b.finish(one, scores);
}

} // namespace

TEST_CASE("stages are rows made from their names", "[buffer][stage]") {
  auto how = small_config({"teach", "sft", "rft", "sft", "eval-validation",
                           "rl-single", "rl-multi", "eval"});
  auto plan = make_plan(how);
  REQUIRE(plan);
  REQUIRE(plan->size() == 8);
  auto& rows = *plan;
  CHECK(rows[0].rule == weights_rule::none);
  CHECK(rows[0].items == item_kind::example);
  CHECK(rows[1].from == std::vector<uint32_t>{0});
  CHECK(rows[2].rule == weights_rule::at_least);
  CHECK(rows[3].from == std::vector<uint32_t>{2});
  CHECK(rows[4].source == item_source::validation);
  CHECK(rows[4].rule == weights_rule::exactly);
  CHECK(rows[5].max_turns == 1);
  CHECK(rows[6].max_turns == 3);
  CHECK(rows[7].how.temperature == 0.7f);
  CHECK(rows[7].max_turns == 3);
}

TEST_CASE("a plan that cannot work is refused by name", "[buffer][stage]") {
  CHECK(make_plan(small_config({"tech"})).error().code == ec::invalid_config);
  CHECK(make_plan(small_config({"sft"})).error().code == ec::invalid_config);
  CHECK(make_plan(small_config({})).error().code == ec::invalid_config);
  auto how = small_config({"eval"});
  task_sets sets{some_tasks("train", 1), {}, {}};
  auto opened = buffer_core::open(std::make_shared<memory_journal>(), how, sets,
                                  0);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message.find("\"eval\" has no task")
        != std::string::npos);
}

TEST_CASE("teaching asks for every solution of every task", "[buffer][stage]") {
  bench b(small_config({"teach", "sft"}));
  auto grants = b.take(1000);
  REQUIRE(grants.size() == 4);
  for (auto& one : grants) {
    CHECK(one.stage == stage_kind::teach);
    CHECK(one.work.kind == item_kind::example);
    CHECK(one.missing.size() == 2);
  }
  b.finish(grants[0], {1, 1});
  b.finish(grants[1], {-1, 1});
  b.finish(grants[2], {-1, -1});
  CHECK(b.row(grants[0].work.id).status == item_status::collected);
  CHECK(b.row(grants[2].work.id).reason == discard_reason::failed);
  // A solution that does not exist comes back empty and is dropped.
  auto empty = sample(grants[3].work.id, 0, -1);
  empty.turns[0].text.clear();
  b.give(grants[3], empty);
  b.give(grants[3], sample(grants[3].work.id, 1, 1));
  CHECK(b.row(grants[3].work.id).status == item_status::collected);
  CHECK(b.core->progress(0).name == "sft");
}

TEST_CASE("teaching ends after the tasks to be taught", "[buffer][stage]") {
  auto how = small_config({"teach", "rft"});
  how.tasks.taught = 3;
  auto plan = make_plan(how);
  REQUIRE(plan);
  CHECK(plan->at(0).limit == 3);
  CHECK(plan->at(1).limit == 0);
  bench b(how);
  CHECK(b.core->progress(0).total == 3);
  CHECK(b.take(9).size() == 3);
}

TEST_CASE("supervised batches run through what was collected",
          "[buffer][stage]") {
  bench b(small_config({"teach", "sft", "eval"}));
  b.attach();
  CHECK(b.next(0).status == next_status::nothing);
  work_through(b, {1, -1});
  // Four examples of four tasks: an epoch is two batches.
  std::set<uint64_t> epoch;
  for (int i = 0; i < 2; ++i)
    for (auto& one : b.train().members) {
      CHECK(one.kind == item_kind::example);
      CHECK(one.index == 0);
      CHECK(b.core->fetch(one.item, one.index));
      epoch.insert(one.item);
    }
  CHECK(epoch.size() == 4);
  auto last = b.train();
  CHECK(last.step == 3);
  CHECK(last.progress == 1);
  CHECK(b.core->progress(0).name == "eval");
  CHECK(b.next(3).status == next_status::stage_over);
  // And the same ones come again after a crash.
  b.restart();
  b.attach();
  CHECK(b.next(2).what.hash == last.hash);
}

TEST_CASE("a second stage of a kind begins anew", "[buffer][stage]") {
  auto how = small_config({"rl-single", "rl-single"});
  how.learner.steps = 2;
  bench b(how);
  b.attach();
  std::vector<bool> begins;
  for (int i = 0; i < 4; ++i) {
    for (auto& one : b.take(1000))
      b.finish(one, {-1, 1});
    begins.push_back(b.train().begins_stage);
  }
  CHECK(begins == std::vector<bool>{true, false, true, false});
  // A redo says the same.
  b.restart();
  b.attach();
  CHECK(b.next(2).what.begins_stage);
  CHECK_FALSE(b.next(3).what.begins_stage);
}

TEST_CASE("a share of the groups is timed, every evaluation is",
          "[buffer][stage]") {
  auto timed = [](std::vector<std::string> stages, double share) {
    auto how = small_config(std::move(stages));
    how.reward.timed_share = share;
    bench f{how};
    std::vector<bool> out;
    for (auto& one : f.take(4))
      out.push_back(one.what.eval.measure);
    return out;
  };
  using flags = std::vector<bool>;
  CHECK(timed({"rl-single"}, 1) == flags{true, true});
  CHECK(timed({"rl-single"}, 0) == flags{false, false});
  CHECK(timed({"rl-single"}, 0.5) == timed({"rl-single"}, 0.5));
  CHECK(timed({"eval"}, 0) == flags{true, true});
  CHECK(timed({"teach"}, 1) == flags(2, false));

  auto how = small_config();
  how.reward.timed_share = 0.25;
  how.buffer.groups_per_batch = 200;
  bench f{how};
  auto grants = f.take(400);
  auto count = std::ranges::count_if(
    grants, [](auto& one) { return one.what.eval.measure; });
  CHECK(grants.size() == 200);
  CHECK(count > 25);
  CHECK(count < 75);
  auto first = grants[0].what.eval.measure;
  f.restart();
  CHECK(f.take(2).at(0).what.eval.measure == first);
}

TEST_CASE("an evaluation is of exactly one version", "[buffer][stage]") {
  auto how = small_config({"rl-single", "eval"});
  how.learner.steps = 1;
  bench b(how);
  b.attach();
  CHECK_FALSE(b.core->exact_version());
  auto grants = b.take(1000);
  b.finish(grants[0], {-1, 1});
  b.finish(grants[1], {-1, 1});
  b.train();
  // What the stage left open is cancelled.
  CHECK(b.row(grants[2].work.id).reason == discard_reason::stage_over);
  REQUIRE(b.core->exact_version() == 1);
  b.restart();
  b.held.clear();
  for (auto& one : b.take(1000)) {
    CHECK(one.rule == weights_rule::exactly);
    CHECK(one.version == 1);
    CHECK(one.how.top_p == 0.95f);
    auto id = one.work.id;
    CHECK(b.give(one, sample(id, 0, 1, 0)) == submit_status::superseded);
    b.finish(one, {1, -1});
    CHECK(b.row(id).status == item_status::scored);
  }
  CHECK(b.core->over());
  CHECK(b.core->progress(0).name == "over");
  b.attach();
  CHECK(b.next(1).status == next_status::run_over);
  CHECK(b.core->sync({bench::rollout, {}, 1, 0}, 0).draining);
}

TEST_CASE("evaluation has its own limit on items at once", "[buffer][stage]") {
  auto how = small_config({"eval"});
  how.buffer.eval_concurrency = 1;
  bench b(how);
  auto grants = b.take(1000);
  REQUIRE(grants.size() == 1);
  b.finish(grants[0], {1, -1});
  CHECK(b.take(1000).size() == 1);
}

TEST_CASE("an evaluation counts what was judged of an item",
          "[buffer][stage]") {
  auto how = small_config({"eval"});
  how.buffer.max_attempts = 1;
  bench b(how);
  auto grants = b.take(1000);
  b.give(grants[0], sample(grants[0].work.id, 0, 1));
  b.held.clear();
  b.take(1000);
  CHECK(b.row(grants[0].work.id).status == item_status::scored);
  CHECK(b.row(grants[1].work.id).reason == discard_reason::attempts);
  CHECK(b.core->over());
}

TEST_CASE("a stage can be ended with what is recorded", "[buffer][stage]") {
  bench b(small_config({"rl-single", "eval"}));
  b.attach();
  auto grants = b.take(1000);
  REQUIRE(grants.size() == 4);
  for (auto& one : grants)
    b.finish(one, {-1, 1});
  b.next(0);
  b.core->end_stage(0);
  REQUIRE(b.core->flush());
  CHECK(b.core->progress(0).name == "rl-single");
  b.restart();
  CHECK(b.core->progress(0).total == 1);
  b.attach();
  b.next(0);
  b.commit(1);
  CHECK(b.core->progress(0).name == "eval");
  // What it left over is cancelled.
  CHECK(b.row(grants[3].work.id).reason == discard_reason::stage_over);
}

TEST_CASE("progress says rate and time left", "[buffer][stage]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  b.now = 10;
  b.train();
  b.train();
  auto seen = b.core->progress(20);
  CHECK(seen.done == 2);
  CHECK(seen.total == 4);
  CHECK(seen.rate == 0.1);
  CHECK(seen.left_s == 20);
  CHECK(seen.waiting_for
        == "a rollout to ask for work (0 items are open, 0 of 2 groups "
           "verified)");
  CHECK(seen.waiting_s == 10);
}

TEST_CASE("a stage without examples says what is missing", "[buffer][stage]") {
  bench b(small_config({"teach", "sft"}));
  b.attach();
  work_through(b, {-1, -1});
  CHECK(b.next(0).status == next_status::nothing);
  CHECK(b.core->progress(0).waiting_for
        == "an example to train: the stages before collected none");
  CHECK(b.core->progress(0).stuck);
}
