#pragma once

#include "actors/compute.hpp"
#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "runtime/config/config.hpp"
#include "runtime/verify/engine.hpp"
#include "runtime/verify/pool_core.hpp"

#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace swage {

/// Judges one candidate; blocks. Made of an `engine`, or by a test.
using judge_function
  = std::function<verdict(const verify_request&, std::stop_token)>;

/// Judges with an engine that nobody else uses.
judge_function judge_of(std::shared_ptr<engine> with);

/// One slot: a thread that runs one verification at a time.
class slot_state {
public:
  using interface = slot_actor;

  slot_state(slot_actor::pointer self, judge_function judge,
             std::shared_ptr<progress_counter> counter);

  slot_actor::behavior_type make_behavior();

private:
  slot_actor::pointer self_;
  judge_function judge_;
  std::shared_ptr<progress_counter> counter_;
};

/// The door in front of a node's slots: messages in, `pool_core` decides.
class verifier_state {
public:
  using interface = verifier_actor;

  /// `timeout_s` bounds one verification; the slot is taken for lost after it.
  verifier_state(verifier_actor::pointer self, std::vector<slot_actor> slots,
                 double timeout_s);

  verifier_actor::behavior_type make_behavior();

  const pool_core& core() const { return core_; }

private:
  using key = std::pair<owner, uint64_t>;
  using promise = caf::typed_response_promise<verify_reply>;

  caf::result<verify_reply> verify(verify_request request);
  uint32_t credit(const owner& asker, uint32_t have, uint32_t want);
  /// What a dead asker holds would be missing for ever.
  void watch_sender(const owner& asker);
  void cancel(const owner& asker, uint64_t id);
  void drain(double deadline_s);
  void apply(pool_effects effects);
  void run(slot_start start);
  void done(uint32_t slot, verdict outcome);

  verifier_actor::pointer self_;
  mailbox<verifier_actor::base> box_;
  std::vector<slot_actor> slots_;
  std::vector<std::stop_source> stops_;
  double timeout_s_;
  pool_core core_;
  std::map<key, promise> waiting_;
  bool draining_ = false;
};

/// A pool with a slot for each judge, which ends its slots when it ends.
/// `counts` is told how busy they are.
verifier_actor spawn_verifiers(caf::actor_system& sys,
                               const std::vector<judge_function>& judges,
                               const verifier_config& settings,
                               progress_board& counts);

} // namespace swage
