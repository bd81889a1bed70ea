#include "actors/embedding.hpp"
#include "actors/local_node.hpp"
#include "actors/network.hpp"
#include "runtime/buffer/memory_journal.hpp"
#include "tests/support/counting_policy.hpp"
#include "tests/system/process.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace swage;

// Nothing moves these actors but their own threads: what is tested is that
// they end, with which result, and (under TSan) that they share nothing else.

namespace {

constexpr uint64_t rl_steps = 6;

config make_settings() {
  config out;
  out.run.stages = {"rl-single", "eval"};
  out.run.checkpoint_interval = 2;
  out.rollout.group_size = 2;
  out.rollout.eval_samples = 2;
  out.rollout.max_live = 8;
  out.buffer.groups_per_batch = 2;
  out.buffer.retry_probability = 0;
  out.buffer.poll_hold_s = 0.2;
  out.learner.steps = rl_steps;
  out.faults.beat_interval_s = 0.1;
  out.faults.detection_s = 30; // Sanitizers are slow; nobody is to be missed.
  out.faults.stall_timeout_s = 20; // What hangs says what it waits for.
  return out;
}

/// Judges at once, as if it measured: every second candidate is right.
judge_function make_alternating_judge(std::shared_ptr<measure_gate> gate) {
  return [gate = std::move(gate), count = 0](const verify_request&,
                                             std::stop_token) mutable {
    gate->measuring(true);
    verdict out;
    out.kind = ++count % 2 ? category::ok : category::runtime_crash;
    gate->measuring(false);
    return out;
  };
}

rollout_tools make_tools() {
  rollout_tools tools;
  tools.first_prompt = [](const grant&) { return std::vector<int32_t>{1}; };
  tools.decode = [](const std::vector<int32_t>&) { return "code"; };
  tools.score = [](const verdict& v) { return v.ok() ? 1.0 : -1.0; };
  tools.feedback = [](const verdict&, uint32_t) { return ""; };
  tools.ret = [](const std::vector<double>& s) { return s.front(); };
  return tools;
}

/// A node's actors in an actor system of their own.
class running_node {
public:
  running_node(const config& settings, const node_config& me, bool head,
               const std::filesystem::path& out,
               std::vector<std::shared_ptr<trainer>> learners = {}) {
    made_.settings = settings;
    made_.options.out = out;
    made_.options.incarnation = 1;
    made_.me = me;
    made_.head = head;
    made_.report = std::make_shared<reporter>("");
    made_.tools = make_tools();
    for (uint32_t i = 0; i < me.actors.rollout; ++i)
      made_.generators.push_back(std::make_shared<test::counting_generator>(5));
    for (uint32_t i = 0; i < me.actors.verifier; ++i)
      made_.judges.push_back(make_alternating_judge(made_.gate));
    if (me.actors.learner > 0) {
      made_.learners = std::move(learners);
      while (made_.learners.size() < me.actors.learner)
        made_.learners.push_back(std::make_shared<test::noting_trainer>());
      made_.mirror = std::make_shared<test::constant_scorer>(-1.f);
    }
    if (head)
      open_buffer();
    configure(host_, settings);
    sys_ = std::make_unique<caf::actor_system>(host_);
    spawned_ = spawn_node(*sys_, made_);
    if (!me.address.empty())
      REQUIRE(publish_node(*sys_, settings, spawned_.node, me.address));
  }

  ~running_node() {
    auto& here = spawned_.here;
    auto end = [](const auto& who) {
      if (who)
        caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
    };
    end(spawned_.node);
    end(here.coordinator);
    end(here.learner);
    for (auto& one : here.ranks)
      end(one);
    end(here.mirror);
    for (auto& one : here.rollouts)
      end(one);
    end(here.pool);
    end(here.publisher);
    end(here.buffer);
    spawned_ = {};
  }

  int wait() { return made_.outcome->wait(); }

  void stop() {
    post_anonymously(spawned_.here.coordinator, stop_atom_v);
  }

  std::string reason() const { return made_.outcome->reason(); }

  const memory_journal& journal() const { return *journal_; }

private:
  void open_buffer() {
    task_sets sets;
    for (int i = 0; i < 6; ++i) {
      task one;
      one.id = "task-" + std::to_string(i);
      one.reference = "class Model: pass";
      (i < 4 ? sets.train : sets.held_out).push_back(one);
    }
    journal_ = std::make_shared<memory_journal>();
    const auto now = std::chrono::duration<double>(
                       std::chrono::steady_clock::now().time_since_epoch())
                       .count();
    auto core = buffer_core::open(journal_, made_.settings, sets, now);
    REQUIRE(core);
    made_.buffer = std::move(*core);
  }

  node_materials made_;
  std::shared_ptr<memory_journal> journal_;
  caf::actor_system_config host_;
  std::unique_ptr<caf::actor_system> sys_;
  spawned_node spawned_;
};

struct scratch {
  std::filesystem::path path
    = std::filesystem::temp_directory_path()
      / ("swage-threads-" + std::to_string(getpid()));
  scratch() { std::filesystem::create_directories(path); }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// Two ranks as collectives join them: the first one's step lasts until the
/// second one's trainer is gone, or for too long. The second one throws.
struct broken_pair {
  struct first : test::noting_trainer {
    explicit first(broken_pair& p) : pair(p) {}
    result<step_report> step(std::span<const train_sample>,
                             const train_options&) override {
      pair.seen = pair.gone.get_future().wait_for(std::chrono::seconds{20})
                  == std::future_status::ready;
      return fail(ec::infra, "rank 0 cannot reach the others");
    }
    broken_pair& pair;
  };

  struct second : test::noting_trainer {
    explicit second(broken_pair& p) : pair(p) { throws = true; }
    ~second() override { pair.gone.set_value(); }
    broken_pair& pair;
  };

  std::promise<void> gone;
  std::atomic<bool> seen{false}; ///< By the first one, in time.
};

void check_whole(const memory_journal& journal) {
  REQUIRE(journal.batches().size() == rl_steps);
  for (auto& [step, batch] : journal.batches())
    CHECK(batch.committed);
  for (auto& [id, row] : journal.items()) {
    CHECK(row.status != item_status::open);
    CHECK(row.status != item_status::verified);
  }
}

} // namespace

TEST_CASE("a run in one process ends on its own", "[actors][threads]") {
  scratch folder;
  auto settings = make_settings();
  node_config me{"head", "", {.rollout = 3, .verifier = 2, .learner = 2}};
  settings.actors = me.actors;
  running_node node{settings, me, true, folder.path};
  const auto code = node.wait();
  INFO(node.reason());
  REQUIRE(code == 0);
  check_whole(node.journal());
}

TEST_CASE("ranks do not wait for one that threw", "[actors][threads]") {
  scratch folder;
  auto settings = make_settings();
  node_config me{"head", "", {.rollout = 1, .verifier = 1, .learner = 2}};
  settings.actors = me.actors;
  broken_pair pair;
  {
    running_node node{settings, me, true, folder.path,
                      {std::make_shared<broken_pair::first>(pair),
                       std::make_shared<broken_pair::second>(pair)}};
    CHECK(node.wait() == 3);
  }
  CHECK(pair.seen);
}

TEST_CASE("a run over two connected systems ends in both",
          "[actors][threads]") {
  scratch folder;
  auto settings = make_settings();
  auto address = [] {
    return "127.0.0.1:" + std::to_string(test::free_port());
  };
  node_config head{
    "head", address(), {.rollout = 0, .verifier = 0, .learner = 1}};
  node_config other{
    "other", address(), {.rollout = 2, .verifier = 2, .learner = 0}};
  settings.cluster.nodes = {head, other};
  running_node b{settings, other, false, folder.path};
  running_node a{settings, head, true, folder.path};
  const auto code_b = b.wait(), code_a = a.wait();
  INFO(a.reason() << b.reason());
  REQUIRE(code_a == 0);
  REQUIRE(code_b == 0);
  check_whole(a.journal());
}

TEST_CASE("a stop in mid-run ends in order", "[actors][threads]") {
  scratch folder;
  auto settings = make_settings();
  settings.learner.steps = 1'000'000;
  node_config me{"head", "", {.rollout = 1, .verifier = 1, .learner = 1}};
  settings.actors = me.actors;
  running_node node{settings, me, true, folder.path};
  node.stop();
  CHECK(node.wait() == 0);
}
