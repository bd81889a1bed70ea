#pragma once

#include "actors/node.hpp"
#include "runtime/cluster/probe.hpp"
#include "runtime/config/config.hpp"
#include "runtime/error.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace swage {

/// "host:port" taken apart; `invalid_config` says what is wrong with it.
result<std::pair<std::string, uint16_t>>
parse_address(const std::string& address);

/// The certificates that a configuration names.
tls_files tls_of(const config& settings);

/// Connects through the middleman of `sys`, or its TLS counterpart where the
/// configuration names certificates. Before, somebody else finds out whether
/// the two can come together, so that it fails with the reason. Does not
/// block.
connect_function make_connect(caf::actor_system& sys, const config& settings);

/// Whether this process can be reached at the node's address, if it has one:
/// `invalid_config` where it never will be, `infra` where it is taken now.
result<void> check_address(const node_config& me);

/// Makes a node reachable at its address.
result<void> publish_node(caf::actor_system& sys, const config& settings,
                          const node_actor& who, const std::string& address);

} // namespace swage
