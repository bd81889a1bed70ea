#pragma once

#include "runtime/verify/request.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace swage {

/// A request that now runs on a slot.
struct slot_start {
  uint32_t slot = 0;
  verify_request request;
};

/// A verdict for the one who asked.
struct pool_answer {
  owner to;
  verify_reply reply;
};

/// What the pool's shell does after an event.
struct pool_effects {
  std::vector<slot_start> start;
  std::vector<uint32_t> abandon; ///< Slots whose work nobody wants any more.
  std::vector<pool_answer> answer;
};

/// The verifiers of one node behind one door: n slots, 2n credits. A request
/// costs a credit, so that what has no credit waits with the rollout that made
/// it, and no queue grows without bound.
///
/// Credits are level-triggered: each `on_credit` names what its asker still
/// holds, so that a lost answer costs nothing. A credit that lies with an idle
/// asker is missing for the others, so it gives no more than is wanted, and an
/// asker that has nothing to send gives back what it has (`have` and `want` 0).
class pool_core {
public:
  explicit pool_core(uint32_t slots);

  /// How many credits, `want` at most, `asker` gets beside the `have` that it
  /// holds unused.
  uint32_t on_credit(const owner& asker, uint32_t have,
                     uint32_t want = std::numeric_limits<uint32_t>::max());

  /// One that is queued or runs already is not judged twice.
  pool_effects on_verify(verify_request request);
  pool_effects on_done(uint32_t slot, verdict outcome);

  /// Drops a queued request; a running one is abandoned. Unknown: ignored.
  pool_effects on_cancel(const owner& asker, uint64_t id);

  /// Forgets everything of an owner that is gone.
  pool_effects on_owner_down(const owner& gone);

  uint32_t slots() const { return static_cast<uint32_t>(running_.size()); }
  size_t queued() const { return queue_.size(); }
  uint32_t busy() const;
  /// Credits and requests that there may be at a time.
  uint32_t capacity() const { return 2 * slots(); }
  /// Credits that nobody holds and no request has used.
  uint32_t spare() const;

private:
  bool has(const verify_request& request) const;
  uint32_t share() const;
  uint32_t outstanding() const;
  bool may_return_to(const owner& asker) const;
  uint32_t held_by(const owner& asker) const;
  pool_effects fill();

  std::vector<std::optional<verify_request>> running_;
  std::vector<bool> abandoned_;
  std::deque<verify_request> queue_;
  std::map<owner, uint32_t> unused_; ///< Credits that owners hold.
  /// They want credits and have none at all; who asked first comes first.
  std::deque<owner> hungry_;
};

} // namespace swage
