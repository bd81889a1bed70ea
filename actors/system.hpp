#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/learn/trainer.hpp"
#include "runtime/policy/generator.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace swage {

/// Makes the parts of a policy: LibTorch stays out of the actors. What this
/// node does not run is not made.
struct policy_factory {
  std::function<result<std::unique_ptr<generator>>()> make_generator;
  /// One for each rank of the learner, joined if there are several.
  std::function<result<std::vector<std::unique_ptr<trainer>>>(uint32_t ranks)>
    make_trainers;
  std::function<result<std::unique_ptr<scorer>>()> make_scorer;
};

/// What a node's process needs beside the configuration.
struct node_options {
  std::filesystem::path out; ///< Run folder.
  bool resume = false;
  std::string node;          ///< Its name in `[[cluster.node]]`; empty: alone.
  uint64_t incarnation = 0;  ///< Grows with each restart of this node.
  policy_factory policy;
};

/// Runs one node until the run ends or `stop` is requested. Returns the exit
/// code of the process: 0 success, 2 configuration, 3 the system failed,
/// `stalled_exit`.
int run_node(const config& settings, const node_options& options,
             std::stop_token stop);

} // namespace swage
