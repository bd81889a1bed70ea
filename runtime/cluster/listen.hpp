#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <string>

namespace swage {

/// Whether this process could listen at host:port, found out by doing so for a
/// moment: the network layer only tells that it could not.
///
/// `invalid_config`: the host is no address of this machine, has no address, or
/// its port may not be used; trying again would not help. `infra`: another
/// process listens there, or a name could not be looked up just now.
result<void> check_listen(const std::string& host, uint16_t port);

} // namespace swage
