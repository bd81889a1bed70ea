#pragma once

#include "actors/compute.hpp"
#include "actors/node.hpp"
#include "actors/reporter.hpp"
#include "actors/system.hpp"
#include "actors/verifier.hpp"
#include "runtime/buffer/buffer_core.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/policy/rollout_core.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace swage {

/// Everything that a node's actors are made of. Made before the actor system,
/// because verifiers start processes.
struct node_materials {
  config settings;
  node_options options;
  node_config me; ///< Name, address and counts of this node.
  bool head = true;

  std::vector<judge_function> judges; ///< One a verifier slot.
  std::vector<std::shared_ptr<generator>> generators;
  /// One a rank; given to the actors, so that each ends with its own.
  std::vector<std::shared_ptr<trainer>> learners;
  std::shared_ptr<scorer> mirror;
  rollout_tools tools;
  std::shared_ptr<buffer_core> buffer;

  std::shared_ptr<measure_gate> gate = std::make_shared<measure_gate>();
  std::shared_ptr<progress_board> progress
    = std::make_shared<progress_board>();
  std::shared_ptr<run_outcome> outcome = std::make_shared<run_outcome>();
  std::shared_ptr<learner_end> end = std::make_shared<learner_end>();
  std::shared_ptr<reporter> report; ///< May be null.
  connect_function connect;         ///< Empty: over the network.
  std::function<void(log_level, const std::string&)> say
    = [](log_level level, const std::string& line) { log(level, line); };
};

/// Starts processes, opens the journal, makes the policy's parts.
result<node_materials> prepare_node(const config& settings,
                                    const node_options& options);

/// Spawns this node's actors and the node actor over them.
struct spawned_node {
  local_actors here;
  node_actor node;
};
spawned_node spawn_node(caf::actor_system& sys, node_materials& from);

/// Runs what was prepared, in an actor system of its own, until the run ends
/// or `stop` is requested. Returns what `run_node` returns.
int run_prepared(node_materials& made, std::stop_token stop);

} // namespace swage
