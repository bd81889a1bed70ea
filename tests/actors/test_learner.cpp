#include "actors/learner.hpp"
#include "actors/learner_rank.hpp"

#include "tests/support/counting_policy.hpp"
#include "tests/support/scripted_actors.hpp"
#include "tests/support/simulation.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <unistd.h>

using namespace swage;
namespace fs = std::filesystem;

namespace {

judged_reply batch_at(uint64_t step, stage_kind kind) {
  judged_reply out;
  out.status = next_status::ready;
  out.what.what.step = step;
  out.what.what.kind = kind;
  out.what.what.hash = step * 11;
  // The stages of `stages` below.
  out.what.what.begins_stage = step == 1 || step == 3;
  out.what.what.progress = 0.5;
  trajectory sample;
  sample.item = step;
  sample.ret = 1;
  sample.turns.resize(1);
  sample.turns[0].response = {1, 2};
  sample.turns[0].logprobs = {-1, -1};
  out.what.samples = {sample};
  out.what.what.members = {{step, 0, item_kind::task}};
  return out;
}

struct fixture {
  fixture() {
    fs::remove_all(folder);
    settings.run.checkpoint_interval = 2;
    buffer = sim.sys.spawn<actor_of<test::scripted_buffer_state>>(&script);
    weights
      = sim.sys.spawn<actor_of<test::scripted_publisher_state>>(&published);
  }

  ~fixture() { fs::remove_all(folder); }

  /// Of a run whose journal goes to step 2.
  void put_checkpoint(uint64_t step, uint64_t hash) {
    checkpoint_store store{folder, 3};
    checkpoint_info info{step, hash, "sft", {}};
    REQUIRE(store.write(info, [](auto&) { return result<void>{}; }));
    script.attached.last_committed = step;
    script.attached.hashes = {11, 22};
  }

  learner_actor start(test::scripted_mirror_state::answers next,
                      bool wired = true) {
    mirror
      = sim.sys.spawn<actor_of<test::scripted_mirror_state>>(std::move(next));
    std::vector<rank_actor> ranks;
    for (auto& other : others)
      ranks.push_back(sim.sys.spawn<actor_of<learner_rank_state>>(rank_parts{
        other, settings, std::make_shared<progress_counter>()}));
    learner_parts parts{owner{"n", 1, 0},
                        model,
                        ranks,
                        checkpoint_store{folder, 3},
                        settings,
                        std::make_shared<progress_counter>(),
                        {},
                        [this](std::optional<std::string> why) {
                          ++ends;
                          reason = std::move(why);
                        }};
    auto learner = sim.sys.spawn<actor_of<learner_state>>(std::move(parts));
    if (wired)
      wire(learner);
    return learner;
  }

  void wire(const learner_actor& learner) {
    sim.tell(learner, wire_atom_v,
             learner_wiring{1, buffer, mirror, weights, rollouts});
    sim.run();
  }

  fs::path folder
    = fs::temp_directory_path() / ("swage-learner-" + std::to_string(getpid()));
  test::buffer_script script;
  test::weights_script published;
  config settings;
  std::shared_ptr<test::noting_trainer> model
    = std::make_shared<test::noting_trainer>();
  std::vector<std::shared_ptr<test::noting_trainer>> others; ///< Its ranks'.
  std::optional<std::string> reason;
  int ends = 0;
  test::simulation sim;
  buffer_actor buffer;
  mirror_actor mirror;
  publisher_actor weights;
  std::vector<rollout_actor> rollouts;
};

test::scripted_mirror_state::answers stages(uint64_t last) {
  return [last](uint64_t after) -> caf::result<judged_reply> {
    judged_reply over;
    over.status = next_status::run_over;
    if (after == last)
      return over;
    return batch_at(after + 1, after < 2 ? stage_kind::sft
                                         : stage_kind::rl_single);
  };
}

} // namespace

TEST_CASE("a learner trains, publishes, commits and ends",
          "[actors][learner]") {
  fixture f;
  f.start(stages(3));
  f.sim.advance(10);
  CHECK(f.ends == 1);
  CHECK_FALSE(f.reason);
  CHECK(f.model->log
        == std::vector<std::string>{"reset", "sft 1", "sft 1", "save",
                                    "reset", "reference", "grpo 1", "save"});
  CHECK(f.published.published == std::vector<uint64_t>{0, 1, 2, 3});
  REQUIRE(f.script.committed.size() == 3);
  CHECK(f.script.committed[2].step == 3);
  CHECK(f.script.committed[2].mean_return == 1);
  CHECK(f.script.checkpoints
        == std::vector<std::pair<uint64_t, uint64_t>>{{2, 22}, {3, 33}});
}

TEST_CASE("each stage has a weight decay of its own", "[actors][learner]") {
  fixture f;
  f.settings.learner.sft_weight_decay = 0.25;
  f.settings.learner.weight_decay = 0.5;
  f.start(stages(3));
  f.sim.advance(10);
  CHECK(f.model->decays == std::vector<double>{0.25, 0.25, 0.5});
}

TEST_CASE("each stage trains on the threads that it was given",
          "[actors][learner]") {
  fixture f;
  f.settings.learner.sft_threads = 4;
  f.settings.learner.threads = 3;
  f.start(stages(3));
  f.sim.advance(10);
  CHECK(f.model->threads == std::vector<int>{4, 4, 3});
}

TEST_CASE("a restarted learner goes on from its checkpoint",
          "[actors][learner]") {
  {
    fixture first;
    first.folder += "-kept";
    first.start(stages(2));
    first.sim.advance(10);
    REQUIRE(first.script.checkpoints.size() == 1);
    fs::rename(first.folder, first.folder.string() + ".moved");
  }
  fixture f;
  fs::rename(f.folder.string() + "-kept.moved", f.folder);
  fs::create_directories(f.folder / ".v000003.17"); // Killed while it wrote.
  f.script.attached.last_committed = 2;
  f.script.attached.hashes = {11, 22};
  f.start(stages(3));
  f.sim.advance(10);
  CHECK(f.ends == 1);
  CHECK_FALSE(f.reason);
  CHECK(f.model->log.front() == "load v000002");
  CHECK(f.published.published == std::vector<uint64_t>{2, 3});
  CHECK_FALSE(fs::exists(f.folder / ".v000003.17"));
}

TEST_CASE("every rank restores and trains what the first one does",
          "[actors][learner]") {
  fixture f;
  for (int i = 0; i < 2; ++i)
    f.others.push_back(std::make_shared<test::noting_trainer>());
  f.settings.actors.learner = 3;
  f.settings.learner.threads = 6;
  f.put_checkpoint(2, 22);
  f.start(stages(4));
  f.sim.advance(10);
  CHECK(f.ends == 1);
  CHECK_FALSE(f.reason);
  std::vector<std::string> trained{"load v000002", "reset", "reference",
                                   "grpo 1", "grpo 1"};
  for (auto& other : f.others) {
    CHECK(other->log == trained);
    CHECK(other->threads == std::vector<int>{2, 2});
  }
  trained.push_back("save"); // Only the first one writes checkpoints,
  CHECK(f.model->log == trained);
  CHECK(f.published.published == std::vector<uint64_t>{2, 3, 4}); // publishes
  CHECK(f.script.committed.size() == 2);                          // and commits.
}

TEST_CASE("a learner does nothing more after its end",
          "[actors][learner]") {
  fixture f;
  f.others.push_back(std::make_shared<test::noting_trainer>());
  f.others[0]->refuse_load = "model.safetensors is torn";
  f.put_checkpoint(2, 22);
  f.start(stages(4));
  f.sim.advance(10);
  CHECK(f.ends == 1);
  REQUIRE(f.reason);
  CHECK(f.reason->find("model.safetensors is torn") != std::string::npos);
  CHECK(f.model->log == std::vector<std::string>{"load v000002"});
  CHECK(f.published.published.empty());
  CHECK(f.script.committed.empty());
}

TEST_CASE("a learner stopped before it began stays so",
          "[actors][learner]") {
  fixture f;
  f.put_checkpoint(2, 22);
  auto learner = f.start(stages(4), false);
  auto pending = request(f.sim.self.ptr(), learner, 100, stop_atom_v, 10.0);
  f.sim.run();
  std::move(pending).receive([](uint64_t step) { CHECK(step == 0); },
                             [](caf::error& e) { FAIL(to_string(e)); });
  f.wire(learner);
  f.sim.advance(10);
  CHECK(f.ends == 1);
  CHECK_FALSE(f.reason);
  CHECK(f.model->log.empty());
}

TEST_CASE("a rank that failed to restore trains nothing",
          "[actors][learner]") {
  test::simulation sim;
  auto model = std::make_shared<test::noting_trainer>();
  model->refuse_load = "model.safetensors is torn";
  auto rank = sim.sys.spawn<actor_of<learner_rank_state>>(
    rank_parts{model, {}, std::make_shared<progress_counter>()});
  auto fails = [&](auto... what) {
    auto pending = request(sim.self.ptr(), rank, 100, what...);
    sim.run();
    bool failed = false;
    std::move(pending).receive([] {}, [&](caf::error&) { failed = true; });
    return failed;
  };
  CHECK(fails(restore_atom_v, std::string{"v000002"}));
  CHECK(fails(train_atom_v, rank_job{batch_at(1, stage_kind::sft).what, true}));
  CHECK(model->log == std::vector<std::string>{"load v000002"});
  CHECK(model.use_count() == 1); // So others see that it is gone.
}

TEST_CASE("a rank that fails ends the learner with its reason",
          "[actors][learner]") {
  fixture f;
  f.others.push_back(std::make_shared<test::noting_trainer>());
  f.others[0]->refuse = "rank 1 cannot reach the others";
  f.start(stages(3));
  f.sim.advance(10);
  CHECK(f.ends == 1);
  REQUIRE(f.reason);
  CHECK(f.reason->find("rank 1 cannot reach the others") != std::string::npos);
}

TEST_CASE("a rank that dies ends the learner", "[actors][learner]") {
  fixture f;
  f.others.push_back(std::make_shared<test::noting_trainer>());
  f.others[0]->throws = true;
  f.start(stages(3));
  f.sim.advance(10);
  CHECK(f.ends == 1);
  CHECK(f.reason);
}

TEST_CASE("a journal of another history is refused", "[actors][learner]") {
  fixture f;
  f.put_checkpoint(2, 99);
  f.start(stages(3));
  f.sim.advance(10);
  REQUIRE(f.reason);
  CHECK(f.reason->find("other batches") != std::string::npos);
  CHECK(f.script.committed.empty());
}

TEST_CASE("lost answers are asked for again", "[actors][learner]") {
  fixture f;
  int calls = 0;
  f.script.commit = [&calls](const step_report&) -> result<void> {
    if (++calls == 1)
      return fail(ec::journal_full, "disk full");
    return {};
  };
  auto reliable = stages(2);
  int asked = 0;
  f.start([&, reliable](uint64_t after) -> caf::result<judged_reply> {
    if (++asked % 2 == 1)
      return to_caf({ec::timeout, "lost"});
    return reliable(after);
  });
  f.sim.advance(30);
  CHECK(f.ends == 1);
  CHECK_FALSE(f.reason);
  CHECK(f.script.committed.size() == 2);
  CHECK(calls == 3);
}

TEST_CASE("a fenced learner ends and says why", "[actors][learner]") {
  fixture f;
  f.script.commit = [](const step_report&) -> result<void> {
    return fail(ec::fenced, "epoch 2");
  };
  f.start(stages(3));
  f.sim.advance(10);
  REQUIRE(f.reason);
  CHECK(f.reason->find("taken over") != std::string::npos);
}

TEST_CASE("a fenced checkpoint ends the learner too", "[actors][learner]") {
  fixture f;
  f.script.announced = [](uint64_t) -> result<void> {
    return fail(ec::fenced, "epoch 2");
  };
  f.start(stages(3));
  f.sim.advance(10);
  REQUIRE(f.reason);
  CHECK(f.reason->find("taken over") != std::string::npos);
}

TEST_CASE("a refused step ends the learner with its reason",
          "[actors][learner]") {
  fixture f;
  f.model->refuse = "the gradient is not finite";
  f.start(stages(3));
  f.sim.advance(10);
  REQUIRE(f.reason);
  CHECK(*f.reason == "the gradient is not finite");
  CHECK(f.published.published == std::vector<uint64_t>{0});
}

TEST_CASE("a stop while waiting leaves a checkpoint", "[actors][learner]") {
  fixture f;
  auto learner = f.start([](uint64_t after) -> caf::result<judged_reply> {
    return after == 0 ? batch_at(1, stage_kind::sft) : judged_reply{};
  });
  f.sim.advance(1);
  auto pending = request(f.sim.self.ptr(), learner, 100, stop_atom_v, 10.0);
  f.sim.advance(1);
  uint64_t last = 0;
  std::move(pending).receive([&](uint64_t step) { last = step; },
                             [](caf::error& e) { FAIL(to_string(e)); });
  CHECK(last == 1);
  CHECK(f.ends == 1);
  CHECK(f.script.checkpoints.size() == 1);
}

TEST_CASE("every rollout is told of every version", "[actors][learner]") {
  fixture f;
  std::vector<uint64_t> told[2];
  for (auto& versions : told)
    f.rollouts.push_back(
      f.sim.sys.spawn<actor_of<test::hinted_rollout_state>>(&versions));
  f.start(stages(3));
  f.sim.advance(10);
  for (auto& versions : told)
    CHECK(versions == std::vector<uint64_t>{0, 1, 2, 3});
}
