#include "actors/publisher.hpp"
#include "tests/support/simulation.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

namespace {

snapshot make_snapshot(uint64_t version, size_t bytes) {
  auto data = std::make_shared<std::vector<std::byte>>(bytes);
  for (size_t i = 0; i < bytes; ++i)
    (*data)[i] = static_cast<std::byte>(version * 31 + i);
  snapshot out;
  out.what.version = version;
  out.what.bytes = bytes;
  out.what.checksum = checksum(*data);
  out.data = std::move(data);
  return out;
}

/// Opens a version and asks for nothing more.
struct puller_state {
  using interface = slot_actor;
  interface::pointer self;
  mailbox<interface::base> mail;
  publisher_actor publisher;

  puller_state(interface::pointer self, publisher_actor publisher)
    : self(self), mail(self), publisher(std::move(publisher)) {}

  interface::behavior_type make_behavior() {
    return {[this](verify_atom, slot_job&) {
      mail.ask(
        publisher, 10, [](pull_ticket&) {}, [](const error&) {}, open_atom_v,
        owner{"b", 1, 0}, uint64_t{1});
      return verdict{};
    }};
  }
};

struct fixture {
  test::simulation sim;
  publisher_actor publisher = sim.sys.spawn<actor_of<publisher_state>>(
    publisher_limits{.chunk_bytes = 1000}, uint64_t{1});

  void publish(uint64_t version) {
    sim.tell(publisher, publish_atom_v,
             local_snapshot{make_snapshot(version, 2500)});
  }
};

} // namespace

TEST_CASE("a puller gets the weights in chunks", "[actors][publisher]") {
  fixture f;
  CHECK(f.sim.refused<manifest>(f.publisher, newest_atom_v).code
        == ec::not_found);
  f.publish(7);
  auto newest = f.sim.ask<manifest>(f.publisher, newest_atom_v);
  CHECK(newest.version == 7);
  auto ticket = f.sim.ask<pull_ticket>(f.publisher, open_atom_v,
                                       owner{"a", 1, 0}, uint64_t{7});
  REQUIRE(ticket.chunks == 3);
  std::vector<std::byte> data;
  for (uint32_t i = 0; i < ticket.chunks; ++i) {
    auto piece = f.sim.ask<weight_chunk>(f.publisher, chunk_atom_v, ticket.id,
                                         i);
    CHECK(piece.bytes.size() <= ticket.chunk_bytes);
    auto* begin = reinterpret_cast<const std::byte*>(piece.bytes.data());
    data.insert(data.end(), begin, begin + piece.bytes.size());
  }
  CHECK(checksum(data) == newest.checksum);
  f.sim.tell(f.publisher, close_atom_v, ticket.id);
  CHECK(f.sim.refused<weight_chunk>(f.publisher, chunk_atom_v, ticket.id, 0u)
          .code
        == ec::stale);
}

TEST_CASE("a neighbour shares the weights without a copy",
          "[actors][publisher]") {
  fixture f;
  auto weights = make_snapshot(1, 100);
  f.sim.tell(f.publisher, publish_atom_v, local_snapshot{weights});
  auto shared = f.sim.ask<local_snapshot>(f.publisher, local_atom_v,
                                          uint64_t{1});
  CHECK(shared.weights.data == weights.data);
  auto error = f.sim.refused<local_snapshot>(f.publisher, local_atom_v,
                                             uint64_t{2});
  CHECK(error.code == ec::not_found);
}

TEST_CASE("a dead puller's version is dropped", "[actors][publisher]") {
  fixture f;
  f.publish(1);
  auto puller = f.sim.sys.spawn<actor_of<puller_state>>(f.publisher);
  f.sim.ask<verdict>(puller, verify_atom_v, slot_job{});
  f.publish(2);
  CHECK(f.sim.ask<local_snapshot>(f.publisher, local_atom_v, uint64_t{1})
          .weights.what.version
        == 1);
  f.sim.kill(puller);
  CHECK(f.sim.refused<local_snapshot>(f.publisher, local_atom_v, uint64_t{1})
          .code
        == ec::not_found);
}

TEST_CASE("an abandoned pull is closed after a while", "[actors][publisher]") {
  fixture f;
  f.publish(1);
  auto ticket = f.sim.ask<pull_ticket>(f.publisher, open_atom_v,
                                       owner{"a", 1, 0}, uint64_t{1});
  f.publish(2);
  f.sim.advance(59);
  CHECK(f.sim.ask<weight_chunk>(f.publisher, chunk_atom_v, ticket.id, 0u).index
        == 0);
  f.sim.advance(200);
  CHECK(f.sim.refused<weight_chunk>(f.publisher, chunk_atom_v, ticket.id, 0u)
          .code
        == ec::stale);
}
