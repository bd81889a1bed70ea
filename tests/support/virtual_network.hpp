#pragma once

#include "actors/mail.hpp"
#include "actors/protocol.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/action.hpp>
#include <caf/actor_clock.hpp>
#include <caf/execution_unit.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message.hpp>
#include <caf/node_id.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swage::test {

/// One message on its way from a process to another.
struct passage {
  uint32_t from = 0, to = 0; ///< Processes.
  bool is_reply = false;
  std::string what; ///< Its first type, such as "swage::sync_atom".
};

/// What becomes of it.
struct fate {
  bool lost = false;
  bool late = false;        ///< By `delay_s`, while others overtake it.
  double delay_s = 0.001;   ///< In order, unless it is late.
  double again_after_s = 0; ///< Above 0: it arrives once more so much later.
};

/// Hands out where a node can be reached, as the network module does.
using connector_actor = caf::typed_actor<
  caf::result<caf::strong_actor_ptr>(caf::connect_atom, std::string address)>;

/// Several processes in one actor system, with a network between them that
/// does what a real one does: a handle to an actor of another process is a
/// proxy with that process's node id; it dies with its actor and with the
/// connection, and one that is made after a reconnect compares equal. Messages
/// are serialised; what may not leave a process is refused.
class virtual_network {
public:
  using decide = std::function<fate(const passage&)>;
  using refuse = std::function<void(const std::string& violation)>;

  virtual_network(caf::actor_system& sys, decide how, refuse broken);
  ~virtual_network();
  virtual_network(const virtual_network&) = delete;
  virtual_network& operator=(const virtual_network&) = delete;

  /// A new process; actors with ids in (`after`, `last`] belong to it.
  uint32_t add_process(const std::string& name);
  void own(uint32_t process, caf::actor_id after, caf::actor_id last);

  /// The process of an actor, or 0 if it belongs to none.
  uint32_t process_of(caf::actor_id actor) const;

  /// Where `address` leads to from now on.
  void publish(const std::string& address, uint32_t process,
               const node_actor& node);

  /// Connects from one process; spawned like any of its actors.
  connector_actor spawn_connector(uint32_t process);

  /// Whether a connect from `a` to `b` succeeds; set by whoever cuts.
  std::function<bool(uint32_t a, uint32_t b)> reachable;

  /// The connection between both is lost, with all that was on its way.
  void cut(uint32_t a, uint32_t b);

  /// The process is gone: all its connections and addresses.
  void cut_all(uint32_t process);

private:
  class remote_actor;
  class connector_state;
  using pair = std::pair<uint32_t, uint32_t>;

  struct place {
    uint32_t process = 0;
    caf::strong_actor_ptr node;
  };

  struct range {
    caf::actor_id after = 0, last = 0;
    uint32_t process = 0;
  };

  struct direction {
    uint64_t epoch = 0;
    caf::actor_clock::time_point newest{};
  };

  caf::strong_actor_ptr view(uint32_t viewer,
                             const caf::strong_actor_ptr& target);
  template <class Handle>
  void translate(uint32_t viewer, Handle& handle);
  caf::message copy(uint32_t to, const caf::message& what);
  bool send(uint32_t from, const caf::strong_actor_ptr& to,
            caf::mailbox_element_ptr what);
  void deliver_at(caf::actor_clock::time_point when, pair way,
                  const caf::strong_actor_ptr& to,
                  const caf::mailbox_element& what);
  void watch(const caf::strong_actor_ptr& target);
  void kill_views(const std::function<bool(uint32_t viewer,
                                           caf::actor_id actor)>& which);
  void actor_gone(caf::actor_id actor);
  caf::actor_clock& clock() const;

  caf::actor_system& sys_;
  decide decide_;
  refuse refuse_;
  std::vector<caf::node_id> nodes_; ///< By process; of the number 0, none.
  std::vector<range> ranges_;
  std::map<std::string, place> places_;
  std::map<pair, direction> ways_;
  /// By viewer and actor; of the class `remote_actor`.
  std::map<std::pair<uint32_t, caf::actor_id>, caf::strong_actor_ptr> views_;
  std::map<caf::actor_id, bool> watched_;
  /// Actors outlive the network at times and must not call it then.
  std::shared_ptr<virtual_network*> alive_;
};

} // namespace swage::test
