#include "runtime/learn/learner_core.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace swage;
using act = learner_action;
using Catch::Matchers::ContainsSubstring;

namespace {

attach_reply attached(uint64_t committed, std::vector<uint64_t> hashes) {
  attach_reply out;
  out.epoch = 5;
  out.last_committed = committed;
  out.last_batch = hashes.size();
  out.hashes = std::move(hashes);
  return out;
}

judged_reply ready(uint64_t step, bool begins_stage = false) {
  judged_reply out;
  out.status = next_status::ready;
  out.what.what.step = step;
  out.what.what.hash = step * 11;
  out.what.what.kind = stage_kind::sft;
  out.what.what.begins_stage = begins_stage;
  return out;
}

judged_reply says(next_status status) {
  judged_reply out;
  out.status = status;
  return out;
}

checkpoint_info restored(uint64_t step, uint64_t hash) {
  checkpoint_info info;
  info.step = step;
  info.hash = hash;
  info.stage = "sft";
  return info;
}

} // namespace

TEST_CASE("a fresh learner publishes version zero first",
          "[runtime][learn]") {
  learner_core core{2};
  CHECK(core.start(std::nullopt) == act::attach);
  CHECK(core.on_attached(attached(0, {})) == act::publish);
  CHECK(core.step() == 0);
  CHECK(core.on_published() == act::ask);
  CHECK(core.on_next(says(next_status::nothing)) == act::ask);
  CHECK(core.on_next(ready(1, true)) == act::train);
  CHECK(core.stage_changed());
  CHECK(core.on_trained() == act::publish);
  CHECK(core.on_published() == act::commit);
  CHECK(core.on_committed() == act::ask);
  CHECK(core.on_next(ready(2)) == act::train);
  CHECK_FALSE(core.stage_changed());
  CHECK(core.on_trained() == act::publish);
  CHECK(core.on_published() == act::commit);
  CHECK(core.on_committed() == act::checkpoint);
  CHECK(core.hash() == 22);
  CHECK(core.on_checkpointed() == act::announce);
  CHECK(core.on_announced() == act::ask);
}

TEST_CASE("a second stage of a kind begins anew", "[runtime][learn]") {
  learner_core core{100};
  core.start(restored(1, 11));
  core.on_attached(attached(3, {11, 22, 33}));
  core.on_next(ready(2));
  CHECK_FALSE(core.stage_changed());
  core.on_trained();
  core.on_committed();
  CHECK(core.on_next(ready(3, true)) == act::checkpoint);
  core.on_checkpointed();
  core.on_announced();
  CHECK(core.on_next(ready(3, true)) == act::train);
  CHECK(core.stage_changed());
}

TEST_CASE("the end of a stage is a checkpoint", "[runtime][learn]") {
  learner_core core{10};
  core.start(restored(20, 220));
  std::vector<uint64_t> hashes;
  for (uint64_t step = 1; step <= 20; ++step)
    hashes.push_back(step * 11);
  CHECK(core.on_attached(attached(20, hashes)) == act::publish);
  CHECK(core.on_published() == act::ask);
  // Nothing is newer than the checkpoint.
  CHECK(core.on_next(ready(21, true)) == act::train);
  core.on_trained();
  core.on_published();
  CHECK(core.on_committed() == act::ask);
  CHECK(core.on_next(ready(22, true)) == act::checkpoint);
  CHECK(core.step() == 21);
  CHECK(core.on_checkpointed() == act::announce);
  CHECK(core.on_announced() == act::ask);
  CHECK(core.on_next(ready(22, true)) == act::train);
}

TEST_CASE("redo publishes nothing before it caught up", "[runtime][learn]") {
  learner_core core{100};
  CHECK(core.start(restored(1, 11)) == act::attach);
  CHECK(core.on_attached(attached(3, {11, 22, 33, 44})) == act::ask);
  CHECK(core.on_next(ready(2)) == act::train);
  CHECK(core.on_trained() == act::commit);
  CHECK(core.on_committed() == act::ask);
  CHECK(core.on_next(ready(3)) == act::train);
  CHECK(core.on_trained() == act::publish);
  CHECK(core.on_published() == act::commit);
  CHECK(core.on_committed() == act::ask);
  CHECK(core.on_next(ready(4)) == act::train);
  CHECK(core.on_trained() == act::publish);
}

TEST_CASE("a checkpoint of other batches is refused", "[runtime][learn]") {
  learner_core core{2};
  core.start(restored(2, 99));
  CHECK(core.on_attached(attached(2, {11, 22})) == act::failed);
  CHECK_THAT(core.reason(), ContainsSubstring("other batches"));
}

TEST_CASE("a checkpoint beyond the journal is refused", "[runtime][learn]") {
  learner_core core{2};
  core.start(restored(3, 33));
  CHECK(core.on_attached(attached(2, {11, 22})) == act::failed);
  CHECK_THAT(core.reason(), ContainsSubstring("--fork"));
}

TEST_CASE("the end of a run leaves a checkpoint", "[runtime][learn]") {
  learner_core core{100};
  core.start(std::nullopt);
  core.on_attached(attached(0, {}));
  core.on_published();
  SECTION("of the last step") {
    core.on_next(ready(1));
    core.on_trained();
    core.on_published();
    CHECK(core.on_committed() == act::ask);
    CHECK(core.on_next(says(next_status::run_over)) == act::checkpoint);
    CHECK(core.on_checkpointed() == act::announce);
    CHECK(core.on_announced() == act::finish);
  }
  SECTION("but none where nothing was trained") {
    CHECK(core.on_next(says(next_status::run_over)) == act::finish);
  }
}

TEST_CASE("a stop finishes the batch and checkpoints", "[runtime][learn]") {
  learner_core core{100};
  core.start(std::nullopt);
  core.on_attached(attached(0, {}));
  core.on_published();
  core.on_next(ready(1));
  core.request_stop();
  CHECK(core.on_trained() == act::publish);
  CHECK(core.on_published() == act::commit);
  CHECK(core.on_committed() == act::checkpoint);
  CHECK(core.on_checkpointed() == act::announce);
  CHECK(core.on_announced() == act::finish);
}

TEST_CASE("a fenced learner and a skipped batch fail", "[runtime][learn]") {
  learner_core core{100};
  core.start(std::nullopt);
  core.on_attached(attached(0, {}));
  core.on_published();
  CHECK(core.on_next(ready(2)) == act::failed);
  CHECK_THAT(core.reason(), ContainsSubstring("expected batch 1"));
  learner_core other{100};
  other.start(std::nullopt);
  CHECK(other.on_next(says(next_status::fenced)) == act::failed);
}
