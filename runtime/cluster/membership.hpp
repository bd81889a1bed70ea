#pragma once

#include "runtime/cluster/node_info.hpp"
#include "runtime/cluster/wait_reminder.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swage {

struct membership_limits {
  double detection_s = 5; ///< A node that is silent for longer is dead.
  double stall_s = 600;   ///< A thread that works for longer is hung.
  double drain_s = 30;    ///< Draining takes no longer than this.
};

/// Who may join: those who run the same program on the same configuration.
struct membership_terms {
  node_id head; ///< The last to leave.
  std::string build;
  uint64_t protocol = 0;
  uint64_t config = 0;
  std::string config_text;
  std::vector<std::string> names; ///< Of all nodes; the head's among them.
};

/// What the coordinator's shell does after an event.
struct membership_effects {
  std::vector<node_id> down;      ///< Their leases are free.
  std::vector<std::string> lines;    ///< For the log.
  std::vector<std::string> notices;  ///< For the console too.
  std::vector<std::string> warnings; ///< Likewise.
};

/// Who is in the run: admits, watches and dismisses nodes. What others need to
/// know is one map with a generation, which every beat brings to who lacks it.
///
///   absent --join--> member --silent, leaves, is replaced--> absent
///
/// Draining has two phases, because a verdict may be all that a rollout on
/// another node waits for: first everyone finishes what is in progress, then,
/// once all have, everyone leaves, the head last.
class membership {
public:
  membership(membership_limits limits, membership_terms terms);

  /// @param config The node's own configuration, as TOML: a refusal names the
  /// knobs in which it differs.
  std::pair<join_reply, membership_effects>
  on_join(const node_info& node, double now, const std::string& config = {});

  std::pair<beat_reply, membership_effects>
  on_beat(const beat_report& beat, double now);

  /// A node leaves in order, or its connection was lost.
  membership_effects on_leave(const node_id& who, const std::string& reason);

  membership_effects on_fault(const fault_report& fault);

  /// To be called every second or so. A late call extends every deadline by
  /// as much: then it was this process that did not run.
  membership_effects on_tick(double now);

  void drain(double now);
  bool draining() const {
    return drain_until_.has_value();
  }

  /// Whether some learner has said that it trained everything.
  bool finished() const {
    return finished_;
  }

  const cluster_map& where() const {
    return map_;
  }

  /// Newest report of each member.
  std::vector<beat_report> reports() const;

  /// Names that were configured and are not members.
  std::vector<std::string> missing() const;

private:
  struct pace {
    uint64_t count = 0;
    double since = 0; ///< When it last moved, or began to work.
  };

  struct member {
    node_info info;
    double seen = 0;
    beat_report last;
    std::map<std::pair<std::string, uint32_t>, pace> paces;
    std::string evicted;
  };

  std::string objection(const node_info& node, const std::string& config) const;
  void refuse(const std::string& name, const std::string& reason, double now,
              membership_effects& out);
  void watch_missing(double now, membership_effects& out);
  /// By value: callers name a member that this erases.
  void remove(node_id who, const std::string& reason,
              membership_effects& out);
  void watch_paces(member& one, double now, membership_effects& out);
  void redraw();
  bool may_leave(const node_id& who, double now) const;

  membership_limits limits_;
  membership_terms terms_;
  std::map<std::string, member> members_;
  /// Why a name was refused, and until when that is not said again.
  std::map<std::string, std::pair<std::string, double>> refused_;
  wait_reminder missing_{5};
  cluster_map map_;
  std::optional<double> last_tick_;
  std::optional<double> drain_until_;
  bool finished_ = false;
};

} // namespace swage
