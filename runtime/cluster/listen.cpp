#include "runtime/cluster/listen.hpp"

#include "runtime/descriptor.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace swage {

namespace {

/// 0, or why this address cannot be listened at.
int try_listen(const addrinfo& where) {
  descriptor made{::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (made.value() < 0)
    return errno;
  // As a server does: connections of an earlier one may linger.
  int yes = 1;
  ::setsockopt(made.value(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(made.value(), where.ai_addr, where.ai_addrlen) != 0
      || ::listen(made.value(), 1) != 0)
    return errno;
  return 0;
}

error explain(int why) {
  switch (why) {
    case EADDRINUSE:
      return {ec::infra, "another process listens there"};
    case EADDRNOTAVAIL:
      return {ec::invalid_config, "it is no address of this machine"};
    case EACCES:
      return {ec::invalid_config,
              "this user may not listen at such a port; take one above 1023"};
    default:
      return {ec::infra, std::strerror(why)};
  }
}

} // namespace

result<void> check_listen(const std::string& host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  auto number = std::to_string(port);
  if (auto code = ::getaddrinfo(host.c_str(), number.c_str(), &hints, &found))
    return fail(code == EAI_AGAIN ? ec::infra : ec::invalid_config,
                fmt::format("{}: {}", host, ::gai_strerror(code)));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found,
                                                           &::freeaddrinfo};
  int why = EADDRNOTAVAIL;
  for (auto* one = all.get(); one; one = one->ai_next) {
    auto failed = try_listen(*one);
    if (failed == 0)
      return {};
    if (why != EADDRINUSE)
      why = failed;
  }
  return tl::unexpected(explain(why));
}

} // namespace swage
