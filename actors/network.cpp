#include "actors/network.hpp"

#include "runtime/cluster/listen.hpp"

#include <caf/actor_system.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/openssl/manager.hpp>
#include <caf/openssl/publish.hpp>

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace swage {

namespace {

/// Asks who listens at an address; blocks, so that it runs detached.
using prober_actor = caf::typed_actor<caf::result<void>(caf::connect_atom,
                                                        std::string)>;

class prober_state {
public:
  using interface = prober_actor;
  static constexpr const char* name = "prober";

  prober_state(interface::pointer, tls_files files, double timeout_s)
    : files_(std::move(files)), timeout_s_(timeout_s) {}

  interface::behavior_type make_behavior() {
    return {[this](caf::connect_atom,
                   const std::string& address) -> caf::result<void> {
      auto where = parse_address(address);
      if (!where)
        return to_caf(where.error());
      auto met = probe_node(where->first, where->second, files_, timeout_s_);
      if (!met)
        return to_caf(met.error());
      return caf::unit;
    }};
  }

private:
  tls_files files_;
  double timeout_s_;
};

caf::io::middleman_actor connector(caf::actor_system& sys,
                                   const config& settings) {
  return tls_of(settings).used() ? sys.openssl_manager().actor_handle()
                                 : sys.middleman().actor_handle();
}

} // namespace

tls_files tls_of(const config& settings) {
  auto& from = settings.cluster;
  return {from.tls_certificate, from.tls_key, from.tls_ca};
}

result<std::pair<std::string, uint16_t>>
parse_address(const std::string& address) {
  const auto colon = address.rfind(':');
  uint16_t port = 0;
  if (colon != std::string::npos && colon > 0) {
    auto* end = address.data() + address.size();
    auto [at, failed] = std::from_chars(address.data() + colon + 1, end, port);
    if (failed == std::errc{} && at == end && port > 0) {
      auto host = address.substr(0, colon);
      if (host.front() == '[' && host.back() == ']') // An IPv6 address.
        host = host.substr(1, host.size() - 2);
      return std::pair{host, port};
    }
  }
  return fail(
    ec::invalid_config,
    fmt::format("expected an address as host:port, found '{}'", address));
}

connect_function make_connect(caf::actor_system& sys, const config& settings) {
  auto via = connector(sys, settings);
  const auto timeout = settings.faults.request_timeout_s;
  auto prober = spawn_compute<prober_state>(sys, tls_of(settings),
                                            settings.faults.detection_s);
  return [via, prober, timeout](mailbox<node_actor::base>& mail,
                                const std::string& address, on_connected ok,
                                on_failure failed) {
    auto where = parse_address(address);
    if (!where)
      return failed(where.error());
    auto connect = [&mail, via, timeout, where = *where, address, ok, failed] {
      mail.ask(
        via, timeout,
        [ok, failed, address](const caf::node_id&,
                              const caf::strong_actor_ptr& who,
                              const std::set<std::string>&) {
          if (!who)
            return failed({ec::infra, "nobody is published at " + address});
          ok(caf::actor_cast<node_actor>(who));
        },
        failed, caf::connect_atom_v, where.first, where.second);
    };
    mail.ask(prober, timeout, connect, failed, caf::connect_atom_v, address);
  };
}

result<void> check_address(const node_config& me) {
  if (me.address.empty())
    return {};
  auto where = parse_address(me.address);
  auto free = where ? check_listen(where->first, where->second)
                    : tl::unexpected(where.error());
  if (free)
    return {};
  auto& why = free.error();
  auto advice = why.code == ec::invalid_config
                  ? "; give it one of this machine's addresses, or start it on "
                    "the machine that has this one"
                  : "";
  return fail(why.code, fmt::format("node {} cannot listen at {}: {}{}",
                                    me.name, me.address, why.message, advice));
}

result<void> publish_node(caf::actor_system& sys, const config& settings,
                          const node_actor& who, const std::string& address) {
  auto where = parse_address(address);
  if (!where)
    return tl::unexpected(where.error());
  auto& [host, port] = *where;
  auto bound = tls_of(settings).used()
                 ? caf::openssl::publish(who, port, host.c_str(), true)
                 : sys.middleman().publish(who, port, host.c_str(), true);
  if (!bound)
    return fail(ec::io, fmt::format("cannot listen at {}: {}", address,
                                    to_string(bound.error())));
  return {};
}

} // namespace swage
