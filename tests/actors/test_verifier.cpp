#include "actors/verifier.hpp"

#include "tests/support/simulation.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

namespace {

verify_request ask(uint64_t id) {
  verify_request out;
  out.from = owner{"n", 1, 0};
  out.id = id;
  out.response = "code";
  return out;
}

verdict good(const verify_request&, std::stop_token) {
  verdict out;
  out.kind = category::ok;
  return out;
}

/// A slot that answers after some time, in its own context, or never.
struct held_slot_state {
  using interface = slot_actor;

  held_slot_state(slot_actor::pointer self,
                  std::vector<caf::typed_response_promise<verdict>>* held,
                  std::vector<std::stop_token>* stops, double answer_after_s)
    : self_(self),
      held_(held),
      stops_(stops),
      answer_after_s_(answer_after_s) {}

  slot_actor::behavior_type make_behavior() {
    return {[this](verify_atom, const slot_job& job) {
      held_->push_back(self_->make_response_promise<verdict>());
      stops_->push_back(job.stop);
      if (answer_after_s_ > 0)
        after(self_, answer_after_s_, [answer = held_->back()]() mutable {
          answer.deliver(verdict{});
        });
      return held_->back();
    }};
  }

  slot_actor::pointer self_;
  std::vector<caf::typed_response_promise<verdict>>* held_;
  std::vector<std::stop_token>* stops_;
  double answer_after_s_;
};

/// A rollout that takes its credits and has one candidate judged.
struct asker_state {
  using interface = slot_actor;

  asker_state(slot_actor::pointer self, verifier_actor pool, owner who)
    : self_(self), box_(self), pool_(std::move(pool)), who_(std::move(who)) {}

  slot_actor::behavior_type make_behavior() {
    return {[this](verify_atom, const slot_job& job) {
      auto lost = [](const error&) {};
      box_.ask(pool_, 1000, [](uint32_t) {}, lost, credit_atom_v, who_, 0u, 9u);
      box_.ask(pool_, 1000, [](verify_reply&) {}, lost, verify_atom_v,
               job.request);
      return verdict{};
    }};
  }

  slot_actor::pointer self_;
  mailbox<slot_actor::base> box_;
  verifier_actor pool_;
  owner who_;
};

struct fixture {
  std::vector<caf::typed_response_promise<verdict>> held;
  std::vector<std::stop_token> stops;
  test::simulation sim;

  ~fixture() {
    held.clear(); // A promise must not outlive its system.
  }

  verifier_actor start(slot_actor slot) {
    return sim.sys.spawn<actor_of<verifier_state>>(std::vector{slot}, 100.0);
  }

  slot_actor real() {
    return sim.sys.spawn<actor_of<slot_state>>(
      judge_function{good}, std::make_shared<progress_counter>());
  }

  slot_actor holding(double answer_after_s = 0) {
    return sim.sys.spawn<actor_of<held_slot_state>>(&held, &stops,
                                                    answer_after_s);
  }
};

} // namespace

TEST_CASE("a verdict comes back with a credit", "[actors][verifier]") {
  fixture f;
  auto pool = f.start(f.real());
  const owner who{"n", 1, 0};
  CHECK(f.sim.ask<uint32_t>(pool, credit_atom_v, who, 0u, 9u) == 2);
  auto reply = f.sim.ask<verify_reply>(pool, verify_atom_v, ask(7));
  CHECK(reply.id == 7);
  CHECK(reply.outcome.ok());
  CHECK(reply.credit == 1);
}

TEST_CASE("a slot that is silent is infra, not a wait",
          "[actors][verifier]") {
  fixture f;
  auto pool = f.start(f.holding());
  auto pending
    = request(f.sim.self.ptr(), pool, 1000, verify_atom_v, ask(1));
  f.sim.run();
  REQUIRE(f.held.size() == 1);
  f.sim.advance(101);
  verify_reply reply;
  std::move(pending).receive([&](verify_reply& r) { reply = r; },
                             [](caf::error& e) { FAIL(to_string(e)); });
  CHECK(reply.outcome.kind == category::infra_worker);
  CHECK(f.stops[0].stop_requested());
}

TEST_CASE("a slot that dies gives its candidate back", "[actors][verifier]") {
  fixture f;
  auto slot = f.holding();
  auto pool = f.start(slot);
  f.sim.self->monitor(pool);
  auto pending
    = request(f.sim.self.ptr(), pool, 1000, verify_atom_v, ask(1));
  f.sim.run();
  f.sim.kill(slot);
  verify_reply reply;
  std::move(pending).receive([&](verify_reply& r) { reply = r; },
                             [](caf::error& e) { FAIL(to_string(e)); });
  CHECK(reply.outcome.kind == category::infra_worker);
  bool ended = false;
  f.sim.self->receive([&](caf::down_msg&) { ended = true; },
                      caf::after(std::chrono::seconds{0}) >> [] {});
  CHECK(ended);
}

TEST_CASE("the credits of a dead rollout are given to others",
          "[actors][verifier]") {
  fixture f;
  auto pool = f.start(f.holding(5));
  const owner dead{"n", 1, 0}, next{"n", 2, 0};
  auto asker = f.sim.sys.spawn<actor_of<asker_state>>(pool, dead);
  f.sim.ask<verdict>(asker, verify_atom_v, slot_job{ask(1), {}});
  REQUIRE(f.held.size() == 1);
  CHECK(f.sim.ask<uint32_t>(pool, credit_atom_v, dead, 1u, 9u) == 0);
  CHECK(f.sim.ask<uint32_t>(pool, credit_atom_v, next, 0u, 9u) == 0);
  f.sim.kill(asker);
  CHECK(f.stops[0].stop_requested());
  f.sim.advance(6);
  CHECK(f.sim.ask<uint32_t>(pool, credit_atom_v, next, 0u, 9u) == 2);
}

TEST_CASE("a cancelled candidate is abandoned and answered",
          "[actors][verifier]") {
  fixture f;
  auto pool = f.start(f.holding());
  auto pending
    = request(f.sim.self.ptr(), pool, 1000, verify_atom_v, ask(1));
  f.sim.run();
  f.sim.tell(pool, cancel_atom_v, owner{"n", 1, 0}, uint64_t{1});
  bool cancelled = false;
  std::move(pending).receive(
    [](verify_reply&) { FAIL("was not cancelled"); },
    [&](caf::error& e) { cancelled = from_caf(e).code == ec::cancelled; });
  CHECK(cancelled);
  CHECK(f.stops[0].stop_requested());
}

TEST_CASE("a draining pool takes nothing more", "[actors][verifier]") {
  fixture f;
  auto pool = f.start(f.real());
  f.sim.tell(pool, drain_atom_v, 5.0);
  const owner who{"n", 1, 0};
  CHECK(f.sim.ask<uint32_t>(pool, credit_atom_v, who, 0u, 9u) == 0);
  CHECK(f.sim.refused<verify_reply>(pool, verify_atom_v, ask(1)).code
        == ec::cancelled);
}
