#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <string>

namespace swage {

/// Makes our message types known to CAF. Idempotent; `configure` calls it. A
/// host application may register its own block before or after.
/// @pre No other thread constructs an actor system at this moment.
void register_types();

/// Prepares a host's configuration for `check`: message types, network and,
/// if certificates are named, TLS modules, heartbeat, timeouts, application id.
/// @pre No actor system was made of `host` yet.
void configure(caf::actor_system_config& host, const config& settings);

/// What `configure` prepared is in effect, or `invalid_config` naming what is
/// not and what was found.
result<void> check(caf::actor_system& sys, const config& settings);

/// Hash of all message types with the names of their fields, and of all
/// interfaces: equal only where two programs understand each other.
uint64_t protocol_hash();

/// Version of this build, such as "0.1.0".
std::string build_version();

} // namespace swage
