#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "tests/support/simulation.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/typed_response_promise.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace swage;

namespace {

/// Answers `silent` never and everything else at once.
struct slow_state {
  using interface = verifier_actor;
  interface::pointer self;
  std::vector<caf::typed_response_promise<verify_reply>> promises;

  explicit slow_state(interface::pointer self) : self(self) {}

  interface::behavior_type make_behavior() {
    return {
      [this](verify_atom, verify_request&) {
        promises.push_back(self->make_response_promise<verify_reply>());
        return promises.back();
      },
      [](credit_atom, const owner&, uint32_t have, uint32_t) {
        return have + 1;
      },
      [](cancel_atom, const owner&, uint64_t) {},
      [this](drain_atom, double) { self->quit(); },
    };
  }
};

/// Asks a pool and notes what came of it.
struct asker_state {
  using interface = slot_actor;
  interface::pointer self;
  mailbox<interface::base> mail;
  verifier_actor pool;
  std::vector<std::string>* log;

  asker_state(interface::pointer self, verifier_actor pool,
              std::vector<std::string>* log)
    : self(self), mail(self), pool(std::move(pool)), log(log) {}

  interface::behavior_type make_behavior() {
    mail.watch(pool, [this](const error&) { log->push_back("gone"); });
    return {[this](verify_atom, slot_job& job) {
      mail.ask(
        pool, 10, [this](verify_reply&) { log->push_back("answer"); },
        [this](const error& e) { log->push_back(to_string(e.code)); },
        verify_atom_v, job.request);
      mail.ask(
        pool, 10, [this](uint32_t n) { log->push_back(std::to_string(n)); },
        [this](const error& e) { log->push_back(to_string(e.code)); },
        credit_atom_v, owner{}, 6u, 9u);
      return verdict{};
    }};
  }
};

struct fixture {
  test::simulation sim;
  std::vector<std::string> log;
  verifier_actor pool = sim.sys.spawn<actor_of<slow_state>>();
  slot_actor asker = sim.sys.spawn<actor_of<asker_state>>(pool, &log);

  ~fixture() {
    // A promise that is never kept keeps its actor alive.
    sim.kill(asker);
    sim.kill(pool);
  }
};

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("an unanswered request fails at its deadline", "[actors][mail]") {
  fixture f;
  f.sim.ask<verdict>(f.asker, verify_atom_v, slot_job{});
  f.sim.advance(9);
  CHECK(f.log == strings{"7"});
  f.sim.advance(2);
  CHECK(f.log == strings{"7", "timeout"});
}

TEST_CASE("a dead peer fails what it owes at once", "[actors][mail]") {
  fixture f;
  f.sim.ask<verdict>(f.asker, verify_atom_v, slot_job{});
  f.sim.kill(f.pool);
  CHECK(f.log == strings{"7", "infra", "gone"});
  SECTION("and the deadline does not fail it again") {
    f.sim.advance(20);
    CHECK(f.log == strings{"7", "infra", "gone"});
  }
  SECTION("and asking the dead peer fails at once") {
    f.sim.ask<verdict>(f.asker, verify_atom_v, slot_job{});
    CHECK(f.log == strings{"7", "infra", "gone", "infra", "infra"});
  }
}

TEST_CASE("a peer that ends as it should is gone too", "[actors][mail]") {
  fixture f;
  f.sim.ask<verdict>(f.asker, verify_atom_v, slot_job{});
  f.sim.tell(f.pool, drain_atom_v, 0.0);
  CHECK(f.log == strings{"7", "infra", "gone"});
  CHECK(from_caf(caf::error{}).message == "the peer has ended");
}

TEST_CASE("errors keep code and message when they travel", "[actors][mail]") {
  auto there = to_caf(error{ec::stale, "version 3 was expected"});
  auto back = from_caf(there);
  CHECK(back.code == ec::stale);
  CHECK(back.message == "version 3 was expected");
  CHECK(from_caf(caf::make_error(caf::sec::request_timeout)).code
        == ec::timeout);
}

TEST_CASE("an enum refuses a number that names nothing", "[actors][mail]") {
  register_types();
  caf::byte_buffer bytes;
  caf::binary_serializer sink{nullptr, bytes};
  submit_status last = submit_status::journal_full;
  REQUIRE(sink.apply(last));
  submit_status found{};
  caf::binary_deserializer source{nullptr, bytes};
  REQUIRE(source.apply(found));
  CHECK(found == last);
  bytes[0] = caf::byte{4};
  caf::binary_deserializer wrong{nullptr, bytes};
  CHECK_FALSE(wrong.apply(found));
}

TEST_CASE("the protocol's hash is the same each time", "[actors][mail]") {
  CHECK(protocol_hash() == protocol_hash());
  CHECK(protocol_hash() != 14695981039346656037ull);
}
