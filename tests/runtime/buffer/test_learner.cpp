#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;
using namespace swage::test;

namespace {

std::vector<judgement> judge_all(const batch& what, bool kept) {
  std::vector<judgement> all;
  for (auto& one : what.members)
    all.push_back({what.step, one.item, one.index, 0.25, 0.1, 0.01, 1, kept});
  return all;
}

/// Trains `steps` batches of RL.
void train(bench& b, int steps) {
  b.attach();
  for (int i = 0; i < steps; ++i) {
    for (auto& one : b.take(1000))
      b.finish(one, {-1, 1});
    b.train();
  }
}

} // namespace

TEST_CASE("an older epoch is fenced from everything", "[buffer][epoch]") {
  bench b;
  train(b, 1);
  auto old = b.epoch;
  CHECK(b.attach() == old + 1);
  step_report report;
  report.step = 2;
  CHECK(b.core->commit(old, report, 0).error().code == ec::fenced);
  CHECK(b.core->judged(old, {}, {}, 0).error().code == ec::fenced);
  CHECK(b.core->checkpointed(old, 0, 0).error().code == ec::fenced);
  CHECK(b.core->next_batch(old, 1, 0).status == next_status::fenced);
  // Nor may anyone go on from where this journal never was.
  CHECK(b.core->next_batch(b.epoch, 9, 0).status == next_status::fenced);
}

TEST_CASE("attaching tells the whole chain", "[buffer][epoch]") {
  bench b;
  train(b, 2);
  b.restart();
  auto reply = b.core->attach(bench::learner, 0);
  REQUIRE(reply);
  CHECK(reply->epoch == 2);
  CHECK(reply->last_batch == 2);
  CHECK(reply->last_committed == 2);
  REQUIRE(reply->hashes.size() == 2);
  CHECK(reply->hashes[1] == b.journal->batches().at(2).hash);
}

TEST_CASE("a commit may be repeated and not skipped", "[buffer][commit]") {
  bench b;
  train(b, 1);
  CHECK(b.commit(1));
  CHECK(b.core->progress(0).last_committed == 1);
  CHECK(b.commit(2).error().code == ec::invalid_argument);
  CHECK(b.commit(3).error().code == ec::invalid_argument);
}

TEST_CASE("committing frees the slots of a batch", "[buffer][commit]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  b.next(0);
  CHECK(b.take(1000).empty());
  b.commit(1);
  auto grants = b.take(1000);
  CHECK(grants.size() == 2);
  CHECK(grants[0].version == 1);
}

TEST_CASE("a redo gets the recorded mask", "[buffer][judgement]") {
  bench b;
  b.attach();
  for (auto& one : b.take(1000))
    b.finish(one, {-1, 1});
  auto what = b.next(0).what;
  REQUIRE(what.recorded.empty());
  auto all = judge_all(what, true);
  all[1].kept = false;
  all[0].weights = {0.5f, 0};
  REQUIRE(b.core->judged(b.epoch, all, {1}, 5));
  // A second judgement of the same samples changes nothing.
  REQUIRE(b.core->judged(b.epoch, judge_all(what, true), {1}, 6));
  b.commit(1);
  b.restart();
  b.attach();
  auto again = b.next(0).what;
  REQUIRE(again.recorded.size() == again.members.size());
  CHECK(again.recorded[0].kept);
  CHECK_FALSE(again.recorded[1].kept);
  CHECK(again.recorded[1].mean_abs == 0.25);
  CHECK(again.recorded[0].weights == std::vector<float>{0.5f, 0});
}

TEST_CASE("only members of a batch are judged in it", "[buffer][judgement]") {
  bench b;
  train(b, 1);
  CHECK(b.core->judged(b.epoch, {{1, 999, 0}}, {1}, 0).error().code
        == ec::invalid_argument);
  CHECK(b.core->judged(b.epoch, {{7, 1, 0}}, {1}, 0).error().code
        == ec::invalid_argument);
  CHECK(b.core->judged(b.epoch, {}, {7}, 0).error().code
        == ec::invalid_argument);
  CHECK(b.core->judged(b.epoch, {}, {1}, 0));
}

TEST_CASE("a checkpoint of another run is refused", "[buffer][checkpoint]") {
  bench b;
  train(b, 1);
  auto hash = b.journal->batches().at(1).hash;
  CHECK(b.core->checkpointed(b.epoch, 1, hash + 1).error().code == ec::corrupt);
  CHECK(b.core->checkpointed(b.epoch, 2, hash).error().code
        == ec::invalid_argument);
  CHECK(b.core->checkpointed(b.epoch, 1, hash));
}

TEST_CASE("payloads stay until every kept checkpoint covers them",
          "[buffer][checkpoint]") {
  bench b;
  train(b, 3);
  auto member = [&](uint64_t step) {
    return b.journal->batches().at(step).members.front();
  };
  auto there = [&](uint64_t step) {
    return b.core->fetch(member(step).item, member(step).index).has_value();
  };
  auto save = [&](uint64_t step) {
    REQUIRE(
      b.core->checkpointed(b.epoch, step, b.journal->batches().at(step).hash));
    REQUIRE(b.core->flush());
  };
  save(1);
  CHECK(there(1)); // Two are kept: a redo may begin at the start.
  save(3);
  CHECK_FALSE(there(1));
  CHECK(there(2));
  CHECK(there(3));
}

TEST_CASE("a discarded group keeps no payload", "[buffer][checkpoint]") {
  bench b;
  auto one = b.take(1).front();
  b.give(one, sample(one.work.id, 0, 1));
  CHECK(b.core->fetch(one.work.id, 0));
  b.give(one, sample(one.work.id, 1, 1));
  CHECK(b.core->fetch(one.work.id, 0).error().code == ec::not_found);
}
