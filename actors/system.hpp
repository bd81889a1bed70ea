#pragma once

#include "runtime/config/config.hpp"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace swage {

/// What a node's process needs beside the configuration.
struct node_options {
  std::filesystem::path out; ///< Run folder; of the head only.
  bool resume = false;
  std::string node;          ///< Its name in `[[cluster.node]]`; empty: alone.
  uint64_t incarnation = 0;  ///< Grows with each restart of this node.
  std::filesystem::path worker; ///< The `swage-worker` program.
};

/// Runs one node until the run ends or `stop` is requested. Returns the exit
/// code of design section 11: 0 success, 2 configuration, 3 the system failed.
/// @pre No other thread of this process runs yet: verifiers fork their
/// processes before the actor system starts.
int run_node(const config& settings, const node_options& options,
             std::stop_token stop);

} // namespace swage
