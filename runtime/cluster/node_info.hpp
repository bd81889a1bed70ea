#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// A process: restarted, it has the same name and a larger incarnation.
struct node_id {
  std::string name;
  uint64_t incarnation = 0;

  friend bool operator==(const node_id&, const node_id&) = default;
  friend auto operator<=>(const node_id&, const node_id&) = default;
};

/// What a node says of itself when it joins.
struct node_info {
  node_id who;
  std::string address; ///< host:port where its node actor is published.
  uint32_t rollouts = 0, verifiers = 0, learners = 0;
  std::string build;
  uint64_t protocol = 0; ///< `protocol_hash()`.
  uint64_t config = 0;   ///< `config_hash()` of its resolved configuration.
};

/// Where every node is. Replaced whole: a larger generation wins.
struct cluster_map {
  uint64_t generation = 0;
  std::vector<node_info> nodes;
};

struct join_reply {
  bool admitted = false;
  bool ending = false; ///< Not admitted, because the run ends: no failure.
  std::string reason; ///< Why not, and what to do.
  std::string config; ///< The head's resolved configuration, as TOML.
  cluster_map where;
};

/// What one compute actor has done: a hung thread stops counting.
struct actor_progress {
  std::string kind; ///< "rollout", "verifier", "mirror", "learner".
  uint32_t actor = 0;
  uint64_t count = 0;    ///< Steps, verdicts, batches.
  double busy_s = 0;
  bool working = false;  ///< Has work, so that its counter should move.
};

struct beat_report {
  node_id who;
  uint64_t generation = 0; ///< Of the map that the node has applied.
  bool finished = false; ///< Its learner has trained everything.
  bool drained = false;  ///< Nothing of the run is in progress there.
  std::vector<actor_progress> actors;
};

struct beat_reply {
  bool known = true; ///< False: the head does not know this node; join again.
  bool draining = false; ///< The run ends: start nothing, finish the rest.
  bool leave = false;    ///< Everyone has drained: end the process.
  std::string evicted;   ///< Not empty: why its process has to start anew.
  cluster_map where; ///< Without nodes if the generation is current.
};

struct fault_report {
  node_id who;
  std::string actor; ///< Such as "rollout 1".
  std::string message;
  bool fatal = false; ///< The node cannot go on.
};

template <class Inspector>
bool inspect(Inspector& f, node_id& x) {
  return f.object(x).fields(f.field("name", x.name),
                            f.field("incarnation", x.incarnation));
}

template <class Inspector>
bool inspect(Inspector& f, node_info& x) {
  return f.object(x).fields(
    f.field("who", x.who), f.field("address", x.address),
    f.field("rollouts", x.rollouts), f.field("verifiers", x.verifiers),
    f.field("learners", x.learners), f.field("build", x.build),
    f.field("protocol", x.protocol), f.field("config", x.config));
}

template <class Inspector>
bool inspect(Inspector& f, cluster_map& x) {
  return f.object(x).fields(f.field("generation", x.generation),
                            f.field("nodes", x.nodes));
}

template <class Inspector>
bool inspect(Inspector& f, join_reply& x) {
  return f.object(x).fields(
    f.field("admitted", x.admitted), f.field("ending", x.ending),
    f.field("reason", x.reason),
    f.field("config", x.config), f.field("where", x.where));
}

template <class Inspector>
bool inspect(Inspector& f, actor_progress& x) {
  return f.object(x).fields(
    f.field("kind", x.kind), f.field("actor", x.actor),
    f.field("count", x.count), f.field("busy_s", x.busy_s),
    f.field("working", x.working));
}

template <class Inspector>
bool inspect(Inspector& f, beat_report& x) {
  return f.object(x).fields(f.field("who", x.who),
                            f.field("generation", x.generation),
                            f.field("finished", x.finished),
                            f.field("drained", x.drained),
                            f.field("actors", x.actors));
}

template <class Inspector>
bool inspect(Inspector& f, beat_reply& x) {
  return f.object(x).fields(
    f.field("known", x.known), f.field("draining", x.draining),
    f.field("leave", x.leave), f.field("evicted", x.evicted),
    f.field("where", x.where));
}

template <class Inspector>
bool inspect(Inspector& f, fault_report& x) {
  return f.object(x).fields(
    f.field("who", x.who), f.field("actor", x.actor),
    f.field("message", x.message), f.field("fatal", x.fatal));
}

} // namespace swage
