#pragma once

#include "runtime/config/config.hpp"
#include "runtime/config/rules.hpp"
#include "runtime/error.hpp"

#include <optional>
#include <span>
#include <string>

namespace swage {

/// Most actors of one kind.
inline constexpr uint32_t max_actors = 1024;

/// What is wrong with one `[[cluster.node]]` beside those before it.
std::optional<std::string> node_complaint(const node_config& node,
                                          std::span<const node_config> before);

/// Makes `[actors]` the sum over the nodes, where there are any; a count that
/// was given and differs, an unknown head, a kind that no node starts and
/// weights that cannot reach a node's rollouts are errors.
result<void> settle_nodes(config& settings, const knob_origins& origins);

} // namespace swage
