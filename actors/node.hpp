#pragma once

#include "actors/compute.hpp"
#include "actors/mail.hpp"
#include "actors/outcome.hpp"
#include "actors/protocol.hpp"
#include "runtime/cluster/wait_reminder.hpp"
#include "runtime/config/config.hpp"
#include "runtime/observe/log.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace swage {

/// What runs in this process; what does not is null or empty.
struct local_actors {
  coordinator_actor coordinator;
  buffer_actor buffer;
  publisher_actor publisher;
  verifier_actor pool;
  std::vector<rollout_actor> rollouts;
  mirror_actor mirror;
  learner_actor learner;
  std::vector<rank_actor> ranks; ///< The learner's others.
};

using on_connected = std::function<void(node_actor)>;
using on_failure = std::function<void(error)>;

/// Connects to the node actor at host:port and calls one of both, in the
/// context of the node that asks.
using connect_function = std::function<void(
  mailbox<node_actor::base>&, const std::string& address, on_connected,
  on_failure)>;

/// What a node is made of.
struct node_parts {
  node_info me;
  config settings;
  local_actors here;
  std::string head_address; ///< Not used on the head.
  connect_function connect;
  std::shared_ptr<progress_board> progress;
  std::shared_ptr<learner_end> learner;
  std::shared_ptr<run_outcome> outcome;
  /// May be empty.
  std::function<void(log_level, const std::string&)> on_line;
};

/// One per process: joins the run, beats, keeps connections to the other nodes
/// and wires the actors here to theirs.
///
///   [connecting] -> joining -> member -> draining -> drained -> gone
///        ^____________________|   the head was lost or does not know us
///
/// Wiring is level-triggered: whenever the map, a connection or a peer's
/// handles change, everyone here gets a whole new wiring of a larger
/// generation. Addresses travel, handles do not: a handle that came through a
/// third node would never report a death.
class node_state {
public:
  using interface = node_actor;
  static constexpr const char* name = "node";

  node_state(interface::pointer self, node_parts parts);

  interface::behavior_type make_behavior();

private:
  enum class peer_stage : uint8_t { connecting, taken, waiting };

  struct peer {
    node_info info;
    peer_stage stage = peer_stage::connecting;
    node_handles handles;
  };

  bool is_head() const {
    return static_cast<bool>(parts_.here.coordinator);
  }

  // node.cpp
  void find_head();
  void join();
  void on_joined(join_reply& reply);
  void lost_head(const std::string& why);
  void beat();
  void on_beat(beat_reply& reply);
  beat_report report() const;
  void begin_drain(double deadline_s);
  void part_drained();
  void leave();
  void give_up(int code, const std::string& reason);
  void check_learner();
  void watch_local();
  template <class Handle>
  void watch_local(const Handle& who, std::string kind);

  // node_wire.cpp
  node_handles handles() const;
  void apply(const cluster_map& map);
  void connect(const node_id& who);
  void take_handles(const node_id& who, const node_actor& there);
  void retry(const node_id& who);
  void peer_gone(const node_id& who);
  void rewire();
  buffer_actor find_buffer() const;
  publisher_actor find_publisher() const;
  peer* find_peer(const node_id& who);

  void say(log_level level, const std::string& line) const;
  double timeout() const {
    return parts_.settings.faults.request_timeout_s;
  }

  interface::pointer self_;
  mailbox<interface::base> mail_;
  node_parts parts_;
  coordinator_actor head_;
  double lost_since_ = 0;
  std::string no_head_; ///< Why, as it was logged last.
  wait_reminder waiting_{5};
  bool joined_ = false;
  cluster_map map_;
  std::map<std::string, peer> peers_;
  uint64_t wired_ = 0;
  uint64_t beats_ = 0; ///< Which series of beats is the current one.
  bool draining_ = false;
  bool alone_ = false; ///< It drains by itself, not with the run.
  bool leaving_ = false;
  uint32_t undrained_ = 0;
};

} // namespace swage
