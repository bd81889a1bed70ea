#pragma once

#include <cstddef>
#include <span>
#include <sys/types.h>

namespace swage {

/// Most descriptors that a packet may carry.
inline constexpr size_t max_packet_descriptors = 8;

/// Receives a packet from a Unix socket and its descriptors, with CLOEXEC, into
/// `fds`, whose rest becomes -1. Returns the packet's size, 0 at the end, or -1
/// with errno.
ssize_t receive_packet(int socket, void* data, size_t bytes,
                       std::span<int> fds);

/// Sends a packet with descriptors. False with errno where that failed.
/// @pre At most `max_packet_descriptors`.
bool send_packet(int socket, const void* data, size_t bytes,
                 std::span<const int> fds = {});

} // namespace swage
