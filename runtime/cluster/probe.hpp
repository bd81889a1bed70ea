#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <string>

namespace swage {

/// What a node proves itself with; all empty: it speaks without TLS.
struct tls_files {
  std::string certificate, key, ca;

  bool used() const { return !certificate.empty(); }
};

/// Whether OpenSSL takes the files: `invalid_config` names the first that it
/// does not.
result<void> check_tls(const tls_files& files);

/// Connects to a node as another node does and waits for its greeting, to find
/// out why two do not come together: the network layer only tells that. Blocks
/// for `timeout_s` a few times at most.
///
/// `invalid_config`: one of the two speaks TLS and the other does not, or one
/// does not accept the other's certificate; asking again would not help.
/// `infra`: nobody listens there, or whoever does says nothing.
result<void> probe_node(const std::string& host, uint16_t port,
                        const tls_files& files, double timeout_s);

} // namespace swage
