#include "runtime/weights/publisher_core.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace swage;

namespace {

snapshot make_snapshot(uint64_t version, size_t bytes = 10) {
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

publisher_limits small_limits() {
  publisher_limits out;
  out.chunk_bytes = 4;
  out.ticket_ttl_s = 60;
  out.max_versions = 2;
  return out;
}

const owner puller{"a", 1, 0};

} // namespace

TEST_CASE("only the newest version is kept", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  CHECK(core.newest().error().code == ec::not_found);
  REQUIRE(core.publish(make_snapshot(0), 0));
  REQUIRE(core.publish(make_snapshot(1), 0));
  CHECK(core.kept() == 1);
  CHECK(core.newest()->version == 1);
  CHECK(core.share(0).error().code == ec::not_found);
  CHECK(is_whole(*core.share(1)));
}

TEST_CASE("an older or torn snapshot is refused", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  REQUIRE(core.publish(make_snapshot(3), 0));
  CHECK(core.publish(make_snapshot(3), 0)); // The answer was late.
  auto other = make_snapshot(5);
  other.what.version = 3;
  CHECK(core.publish(other, 0).error().code == ec::stale);
  CHECK(core.publish(make_snapshot(2), 0).error().code == ec::stale);
  auto torn = make_snapshot(4);
  torn.what.checksum ^= 1;
  CHECK(core.publish(torn, 0).error().code == ec::corrupt);
  CHECK(core.newest()->version == 3);
}

TEST_CASE("chunks put together are the snapshot", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  REQUIRE(core.publish(make_snapshot(5, 10), 0));
  auto ticket = core.open(puller, 5, 0);
  REQUIRE(ticket);
  CHECK(ticket->chunks == 3);
  std::vector<std::byte> data;
  for (uint32_t i = 0; i < ticket->chunks; ++i) {
    auto bytes = core.chunk(ticket->id, i, 0);
    REQUIRE(bytes);
    for (char c : *bytes)
      data.push_back(static_cast<std::byte>(c));
  }
  CHECK(checksum(data) == ticket->what.checksum);
  CHECK(core.chunk(ticket->id, 3, 0).error().code == ec::invalid_argument);
  CHECK(core.chunk(ticket->id + 1, 0, 0).error().code == ec::stale);
}

TEST_CASE("a version being pulled outlives newer ones",
          "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  REQUIRE(core.publish(make_snapshot(1), 0));
  auto ticket = core.open(puller, 1, 0);
  REQUIRE(core.publish(make_snapshot(2), 0));
  CHECK(core.kept() == 2);
  CHECK(core.chunk(ticket->id, 0, 1));
  SECTION("until it is closed") {
    core.close(ticket->id, 1);
    CHECK(core.kept() == 1);
  }
  SECTION("until its puller is gone") {
    core.owner_down(owner{"b", 1, 0}, 1);
    CHECK(core.kept() == 2);
    core.owner_down(puller, 1);
    CHECK(core.kept() == 1);
  }
  SECTION("until nobody used the ticket for long") {
    core.tick(61);
    CHECK(core.kept() == 2);
    core.tick(62);
    CHECK(core.kept() == 1);
  }
  CHECK(core.kept() == 1);
  CHECK(core.chunk(ticket->id, 0, 62).error().code == ec::stale);
}

TEST_CASE("slow pullers do not keep every version", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  std::vector<uint64_t> tickets;
  for (uint64_t v = 0; v < 20; ++v) {
    REQUIRE(core.publish(make_snapshot(v), 0));
    auto ticket = core.open(owner{"a", 1, uint32_t(v)}, v, 0);
    REQUIRE(ticket);
    tickets.push_back(ticket->id);
    CHECK(core.kept() <= 3);
  }
  CHECK(core.chunk(tickets[0], 0, 0).error().code == ec::stale);
  CHECK(core.chunk(tickets[17], 0, 0));
  CHECK(core.chunk(tickets[19], 0, 0));
}

TEST_CASE("a pinned version stays until unpinned", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  REQUIRE(core.publish(make_snapshot(1), 0));
  const owner a{"a", 1, 0}, b{"b", 1, 0};
  REQUIRE(core.pin(a, 1));
  REQUIRE(core.pin(b, 1));
  for (uint64_t v = 2; v < 10; ++v)
    REQUIRE(core.publish(make_snapshot(v), 0));
  CHECK(core.share(1));
  core.unpin(a, 1, 0);
  CHECK(core.share(1));
  core.unpin(b, 1, 0);
  CHECK_FALSE(core.share(1));
  CHECK(core.pin(a, 1).error().code == ec::not_found);
  CHECK(core.kept() == 1);
}

TEST_CASE("a pin asked for twice is one pin", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  REQUIRE(core.publish(make_snapshot(1), 0));
  REQUIRE(core.pin({"head", 1, 0}, 1));
  REQUIRE(core.pin({"head", 1, 0}, 1));
  REQUIRE(core.publish(make_snapshot(2), 0));
  core.unpin({"head", 1, 0}, 1, 0);
  CHECK(core.kept() == 1);
}

TEST_CASE("the pins of a dead owner end with it", "[weights][publisher]") {
  publisher_core core{small_limits(), 1};
  REQUIRE(core.publish(make_snapshot(1), 0));
  REQUIRE(core.pin({"head", 1, 0}, 1));
  REQUIRE(core.publish(make_snapshot(2), 0));
  core.owner_down({"head", 1, 0}, 0);
  CHECK(core.kept() == 1);
}
