#include "actors/rollout.hpp"

#include "actors/verifier.hpp"
#include "tests/support/counting_policy.hpp"
#include "tests/support/scripted_actors.hpp"
#include "tests/support/simulation.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

using namespace swage;

namespace {

verdict good(const verify_request&, std::stop_token) {
  verdict out;
  out.kind = category::ok;
  return out;
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

grant make_grant(uint64_t item, std::vector<uint32_t> missing) {
  grant out;
  out.work.id = item;
  out.lease = item;
  out.missing = std::move(missing);
  out.how.max_new_tokens = 8;
  return out;
}

/// Calls `hook` at every step.
class watched_generator : public test::counting_generator {
public:
  watched_generator(uint32_t length, std::function<void()> hook)
    : counting_generator(length), hook_(std::move(hook)) {}

  std::vector<sequence_output> step() override {
    hook_();
    return counting_generator::step();
  }

  /// Nothing to decode: in a simulation, an actor that always has a message
  /// for itself lets no other one run.
  bool paused = false;

  size_t pending() const override {
    return paused ? 0 : counting_generator::pending();
  }

private:
  std::function<void()> hook_;
};

/// A pool that answers no question about credits and notes what is wanted.
struct silent_pool_state {
  using interface = verifier_actor;
  verifier_actor::pointer self;
  std::vector<uint32_t>* wanted;
  std::vector<caf::typed_response_promise<uint32_t>> held;

  silent_pool_state(verifier_actor::pointer self, std::vector<uint32_t>* wanted)
    : self(self), wanted(wanted) {}

  verifier_actor::behavior_type make_behavior() {
    return {
      [](verify_atom, const verify_request&) { return verify_reply{}; },
      [this](credit_atom, const owner&, uint32_t, uint32_t want) {
        wanted->push_back(want);
        return held.emplace_back(self->make_response_promise<uint32_t>());
      },
      [](cancel_atom, const owner&, uint64_t) {},
      [](drain_atom, double) {},
    };
  }
};

struct fixture {
  explicit fixture(const std::string& transport = "auto",
                   uint32_t max_live = 128) {
    settings.weights.transport = transport;
    settings.rollout.max_live = max_live;
    script.submit = [](uint64_t, const trajectory&) {
      return submit_status::accepted;
    };
    script.sync = [this](const sync_request& request) {
      generator->paused = false;
      synced.push_back(request);
      sync_reply out;
      if (request.want > 0 && !grants.empty()) {
        out.grants = {grants.front()};
        grants.pop_front();
      }
      return out;
    };
    published.kept[0] = test::tiny_snapshot(0);
    buffer = sim.sys.spawn<actor_of<test::scripted_buffer_state>>(&script);
    weights
      = sim.sys.spawn<actor_of<test::scripted_publisher_state>>(&published);
    pool = make_pool();
    rollout_parts parts{owner{"n", 1, 0},
                        generator,
                        make_tools(),
                        settings,
                        std::make_shared<progress_counter>(),
                        gate,
                        [] { return 1.0; }};
    rollout = sim.sys.spawn<actor_of<rollout_state>>(std::move(parts));
  }

  verifier_actor make_pool() {
    auto slot = sim.sys.spawn<actor_of<slot_state>>(
      judge_function{good}, std::make_shared<progress_counter>());
    return sim.sys.spawn<actor_of<verifier_state>>(std::vector{slot}, 100.0);
  }

  /// Version 1 is published, and hinted at, in the step number `during`;
  /// decoding goes on after the next sync.
  void on_step() {
    if (during == 0 || ++steps != during)
      return;
    generator->paused = true;
    published.kept[1] = test::tiny_snapshot(1);
    post_anonymously(rollout, available_atom_v, uint64_t{1});
  }

  void wire(uint64_t generation = 1) {
    rollout_wiring wiring{generation, buffer, weights,
                          {{node_id{"v", generation}, pool}}};
    sim.tell(rollout, wire_atom_v, std::move(wiring));
  }

  config settings;
  uint32_t during = 0, steps = 0;
  std::shared_ptr<measure_gate> gate = std::make_shared<measure_gate>();
  std::shared_ptr<watched_generator> generator
    = std::make_shared<watched_generator>(5, [this] { on_step(); });
  std::deque<grant> grants;
  std::vector<sync_request> synced;
  test::buffer_script script;
  test::weights_script published;
  test::simulation sim;
  buffer_actor buffer;
  publisher_actor weights;
  verifier_actor pool;
  rollout_actor rollout;
};

} // namespace

TEST_CASE("granted samples are decoded, judged and submitted",
          "[actors][rollout]") {
  fixture f;
  f.grants = {make_grant(1, {0, 1}), make_grant(2, {3})};
  f.wire();
  f.sim.advance(3);
  REQUIRE(f.script.submitted.size() == 3);
  for (auto& sample : f.script.submitted) {
    CHECK(sample.turns[0].response.size() == 5);
    CHECK(sample.turns[0].outcome.ok());
    CHECK(sample.ret == 1);
  }
  CHECK(f.synced.back().held.empty());
}

TEST_CASE("new weights arrive in flight and are stamped",
          "[actors][rollout]") {
  fixture f;
  f.wire();
  f.sim.advance(1);
  f.published.kept[1] = test::tiny_snapshot(1);
  f.sim.tell(f.rollout, available_atom_v, uint64_t{1});
  f.sim.advance(1);
  f.grants = {make_grant(1, {0})};
  f.sim.advance(3);
  REQUIRE(f.script.submitted.size() == 1);
  CHECK(f.script.submitted[0].oldest_version() == 1);
  CHECK(f.synced.back().have == 1);
}

TEST_CASE("a hint is pulled while a response is decoded",
          "[actors][rollout]") {
  fixture f;
  f.during = 3;
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(3);
  REQUIRE(f.script.submitted.size() == 1);
  auto& versions = f.script.submitted[0].turns[0].versions;
  REQUIRE(versions.size() == 2);
  CHECK(versions[0].version == 0);
  CHECK(versions[0].count == 3);
  CHECK(versions[1].version == 1);
  CHECK(versions[1].count == 2);
}

TEST_CASE("an evaluation's weights stay until it is decoded",
          "[actors][rollout]") {
  fixture f;
  f.during = 3;
  f.grants = {make_grant(1, {0})};
  f.grants.front().rule = weights_rule::exactly;
  f.wire();
  f.sim.advance(3);
  REQUIRE(f.script.submitted.size() == 1);
  auto& versions = f.script.submitted[0].turns[0].versions;
  REQUIRE(versions.size() == 1);
  CHECK(versions[0].version == 0);
  CHECK(f.synced.back().have == 1); // As soon as it was.
}

TEST_CASE("weights are shared or sent as configured", "[actors][rollout]") {
  auto [transport, shared, chunks] = GENERATE(
    table<std::string, uint32_t, uint32_t>(
      {{"auto", 1, 0}, {"local", 1, 0}, {"message", 0, 3}}));
  CAPTURE(transport);
  fixture f{transport};
  f.published.kept = {{1, test::tiny_snapshot(1)}};
  f.wire();
  f.sim.advance(1);
  CHECK(f.synced.back().have == 1);
  CHECK(f.published.shared == shared);
  CHECK(f.published.chunks == chunks);
}

TEST_CASE("a refused or lost submission is sent again",
          "[actors][rollout]") {
  fixture f;
  int calls = 0;
  f.script.submit
    = [&](uint64_t, const trajectory&) -> caf::result<submit_status> {
    ++calls;
    if (calls == 1)
      return to_caf({ec::timeout, "lost"});
    return calls == 2 ? submit_status::journal_full : submit_status::accepted;
  };
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(5);
  CHECK(calls == 3);
  CHECK(f.synced.back().held.empty());
}

TEST_CASE("a pool that dies is replaced by the next wiring",
          "[actors][rollout]") {
  fixture f;
  f.sim.kill(f.pool);
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(5);
  CHECK(f.script.submitted.empty());
  f.pool = f.make_pool();
  f.wire(2);
  f.sim.advance(5);
  CHECK(f.script.submitted.size() == 1);
}

TEST_CASE("a publisher lost in mid-pull is waited for", "[actors][rollout]") {
  fixture f;
  // The question what is newest is on its way when its receiver is unwired.
  post_anonymously(f.rollout, wire_atom_v,
                   rollout_wiring{1, f.buffer, f.weights, {}});
  post_anonymously(f.rollout, wire_atom_v, rollout_wiring{2, f.buffer, {}, {}});
  f.sim.advance(2);
  f.grants = {make_grant(1, {0})};
  f.wire(3);
  f.sim.advance(5);
  CHECK(f.script.submitted.size() == 1);
}

TEST_CASE("an idle rollout says again that it holds no credit",
          "[actors][rollout]") {
  fixture f;
  std::vector<uint32_t> wanted;
  f.pool = f.sim.sys.spawn<actor_of<silent_pool_state>>(&wanted);
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(1);
  REQUIRE(wanted == std::vector<uint32_t>{1});
  f.script.sync = [](const sync_request& request) {
    sync_reply out;
    out.cancelled = request.held; // So that nothing waits for a credit.
    return out;
  };
  f.sim.advance(6);
  CHECK(wanted == std::vector<uint32_t>{1, 0});
  f.sim.advance(5);
  CHECK(wanted == std::vector<uint32_t>{1, 0, 0});
  f.sim.kill(f.pool); // What it owes holds the rollout, which holds it.
}

TEST_CASE("a wiring of an older generation is ignored",
          "[actors][rollout]") {
  fixture f;
  f.wire(5);
  rollout_wiring old{3, {}, {}, {}};
  f.sim.tell(f.rollout, wire_atom_v, std::move(old));
  f.grants = {make_grant(1, {0})};
  f.sim.advance(5);
  CHECK(f.script.submitted.size() == 1);
}

TEST_CASE("a rollout answers while a measurement stops its decoding",
          "[actors][rollout]") {
  fixture f;
  f.gate->measuring(true);
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(1);
  CHECK(f.script.submitted.empty());
  rescore_request ask{0, 1, {{{1}, {2, 3}}}};
  auto reply = f.sim.ask<rescore_reply>(f.rollout, rescore_atom_v, ask);
  CHECK(reply.logprobs.size() == 1);
  f.gate->measuring(false);
  f.sim.run();
  CHECK(f.script.submitted.size() == 1);
}

TEST_CASE("decoding goes on beside a measurement without end",
          "[actors][rollout]") {
  fixture f;
  f.gate->measuring(true);
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(40); // Five tokens, each after the longest pause.
  CHECK(f.script.submitted.size() == 1);
  f.gate->measuring(false);
}

TEST_CASE("room for a sample is filled at once", "[actors][rollout]") {
  fixture f{"auto", 1};
  // Nobody judges, so that no answer to a submission asks for more either.
  f.sim.kill(f.pool);
  f.grants = {make_grant(1, {0}), make_grant(2, {0})};
  f.wire();
  f.sim.advance(0.05);
  CHECK(f.grants.empty());
}

TEST_CASE("a rollout rescores only its own version", "[actors][rollout]") {
  fixture f;
  f.wire();
  f.sim.advance(1);
  rescore_request ask{0, 1, {{{1}, {2, 3}}}};
  auto reply = f.sim.ask<rescore_reply>(f.rollout, rescore_atom_v, ask);
  REQUIRE(reply.logprobs.size() == 1);
  CHECK(reply.logprobs[0].size() == 2);
  ask.version = 7;
  CHECK(f.sim.refused<rescore_reply>(f.rollout, rescore_atom_v, ask).code
        == ec::stale);
}

TEST_CASE("a drain ends when the last sample is stored",
          "[actors][rollout]") {
  fixture f;
  f.grants = {make_grant(1, {0})};
  f.wire();
  f.sim.advance(3);
  f.sim.tell(f.rollout, drain_atom_v, 10.0);
  const auto before = f.synced.size();
  f.sim.advance(5);
  CHECK(f.synced.size() == before);
}
