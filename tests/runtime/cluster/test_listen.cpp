#include "runtime/cluster/listen.hpp"

#include "runtime/descriptor.hpp"

#include <catch2/catch_test_macros.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace swage;

TEST_CASE("a port that is taken may be free later", "[cluster][listen]") {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&where);
  socklen_t size = sizeof where;
  uint16_t port = 0;
  {
    descriptor taken{::socket(AF_INET, SOCK_STREAM, 0)};
    REQUIRE(::bind(taken.value(), raw, size) == 0);
    REQUIRE(::listen(taken.value(), 1) == 0);
    REQUIRE(::getsockname(taken.value(), raw, &size) == 0);
    port = ntohs(where.sin_port);
    auto refused = check_listen("127.0.0.1", port);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ec::infra);
    CHECK(refused.error().message == "another process listens there");
  }
  CHECK(check_listen("127.0.0.1", port));
  CHECK(check_listen("localhost", port));
}

TEST_CASE("an address of another machine is the user's mistake",
          "[cluster][listen]") {
  // Of a net that is reserved for documentation.
  auto refused = check_listen("192.0.2.1", 4242);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ec::invalid_config);
  CHECK(refused.error().message == "it is no address of this machine");
}
