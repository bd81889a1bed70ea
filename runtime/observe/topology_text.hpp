#pragma once

#include "runtime/config/topology.hpp"

#include <optional>
#include <span>
#include <string>

namespace swage {

/// What a run measured on one edge.
struct edge_figures {
  std::string from, to, message;
  std::optional<double> rate_per_s; ///< Messages a second.
  std::optional<double> staleness;  ///< Mean, in versions.
  std::optional<double> drift;      ///< Median of mean_t |log rho_t|.
};

/// The actor graph as text: a drawing with counts, then the nodes, then one
/// line per edge with its links and, where given, what was measured on it.
std::string topology_text(const topology& graph,
                          std::span<const edge_figures> figures = {});

} // namespace swage
