#pragma once

#include "runtime/config/config.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// Actors of one kind in one process.
struct placement {
  std::string_view kind; ///< "rollout", "verifier", "learner", "mirror", ...
  uint32_t count = 0;
};

/// One process and what it starts.
struct topology_node {
  std::string name;    ///< "head" where one process does everything.
  std::string address; ///< Empty where one process does everything.
  bool head = false;
  std::vector<placement> actors;
};

/// A stream of messages between two kinds of actors.
struct topology_edge {
  std::string_view from, to;
  std::string_view message;
  uint32_t links = 0;  ///< Pairs of actors that it connects.
  bool remote = false; ///< Some of these pairs are in different processes.
};

/// The actor graph that a configuration describes.
struct topology {
  std::vector<topology_node> nodes;
  std::vector<topology_edge> edges;

  /// Actors of a kind over all nodes. Verifiers of a node stand behind one
  /// "pool"; buffer, coordinator, mirror and publisher are one.
  uint32_t count(std::string_view kind) const;
};

/// @pre `settings` was loaded: `[actors]` and the nodes agree.
topology make_topology(const config& settings);

} // namespace swage
