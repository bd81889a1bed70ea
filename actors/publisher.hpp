#pragma once

#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "runtime/weights/publisher_core.hpp"

#include <string>
#include <vector>

namespace swage {

/// Owns the snapshots in the learner's process. It never computes, so that it
/// always answers. The learner hints at a new version; the truth is what a
/// rollout reads from `newest`.
class publisher_state {
public:
  using interface = publisher_actor;
  static constexpr const char* name = "publisher";

  publisher_state(interface::pointer self, publisher_limits limits,
                  uint64_t seed);

  interface::behavior_type make_behavior();

  const publisher_core& core() const { return core_; }

private:
  caf::result<pull_ticket> open(const owner& puller, uint64_t version);
  caf::result<void> pin(const owner& who, uint64_t version);
  void watch_sender(const owner& who);
  caf::result<weight_chunk> chunk(uint64_t ticket, uint32_t index);
  caf::result<local_snapshot> share(uint64_t version);
  caf::result<void> publish(local_snapshot& weights);
  bool is_local() const;
  void tick();

  interface::pointer self_;
  mailbox<interface::base> mail_;
  publisher_limits limits_;
  publisher_core core_;
};

} // namespace swage
