#pragma once

#include "actors/mail.hpp"
#include "actors/outcome.hpp"
#include "actors/protocol.hpp"
#include "runtime/cluster/membership.hpp"
#include "runtime/config/config.hpp"
#include "runtime/observe/log.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swage {

/// Where the run is, once a second.
struct run_status {
  buffer_status buffer;
  std::vector<beat_report> nodes; ///< Newest of each.
  std::vector<std::string> missing; ///< Nodes that have not joined.
};

/// What a coordinator is made of.
struct coordinator_parts {
  membership_limits limits;
  membership_terms terms;
  config settings;
  std::shared_ptr<run_outcome> outcome;
  std::function<void(const run_status&)> on_status; ///< May be empty.
  /// May be empty.
  std::function<void(log_level, const std::string&)> on_line;
};

/// Admits and watches nodes, keeps the version that an evaluation needs, and
/// ends the run: when every stage is over and all that was trained is saved,
/// when it is told to, or when the run has stalled.
class coordinator_state {
public:
  using interface = coordinator_actor;
  static constexpr const char* name = "coordinator";

  coordinator_state(interface::pointer self, coordinator_parts parts);

  interface::behavior_type make_behavior();

private:
  join_reply join(const node_info& node, const std::string& config);
  beat_reply beat(const beat_report& report);
  void wire(coordinator_wiring wiring);
  /// @param why It could not go on; empty: it was told to, or is over.
  void stop(const std::string& why = {});

  void apply(const membership_effects& effects);
  void tick();
  void look();
  void on_progress(const buffer_status& status);
  void keep_pinned(const buffer_status& status);
  void watch_time(const buffer_progress& progress);
  void watch_spread(const buffer_progress& progress);
  void watch_stall(const buffer_progress& progress);
  void end_stalled(const std::string& why);
  void say(log_level level, const std::string& line) const;
  double now() const;
  double timeout() const;

  interface::pointer self_;
  mailbox<interface::base> mail_;
  coordinator_parts parts_;
  membership core_;
  coordinator_wiring wiring_;
  std::optional<uint64_t> pinned_; ///< Asked for, and not unpinned since.
  publisher_actor pinned_at_;
  bool pin_known_ = false; ///< The publisher has said so, and was not lost.
  std::string timed_stage_; ///< RL stage whose time is running.
  double stage_began_ = 0;
  std::string told_stall_;
  std::optional<uint32_t> told_barren_; ///< Of which stage it was said.
  bool looking_ = false;
};

} // namespace swage
