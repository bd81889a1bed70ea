#pragma once

#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "runtime/buffer/buffer_core.hpp"

#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace swage {

/// What a buffer is made of.
struct buffer_parts {
  std::shared_ptr<buffer_core> core;
  double poll_hold_s = 2;
  std::function<double()> wall_clock; ///< Seconds since the epoch, for stamps.
  /// Told when the journal begins to fail, and with nothing when it works
  /// again; may be empty.
  std::function<void(const error*)> on_journal;
};

/// The head's shell around `buffer_core`. What arrives while one message is
/// handled shares its transaction: each request is handled at once, its answer
/// is kept, and a `flush` that the buffer sends to itself, behind everything
/// that is in the mailbox by then, commits and lets all answers out.
///
/// A request that would be answered "nothing" is held, for `poll_hold_s` at
/// most, so that an asker always hears within its own deadline.
class buffer_state {
public:
  using interface = buffer_actor;
  static constexpr const char* name = "buffer";

  buffer_state(interface::pointer self, buffer_parts parts);

  interface::behavior_type make_behavior();

private:
  template <class T>
  using promise = caf::typed_response_promise<T>;
  /// Called with null after the commit, else with why it failed.
  using answer = std::function<void(const error*)>;

  struct held_sync {
    uint64_t id = 0;
    sync_request ask;
    uint64_t newest = 0; ///< Newest committed version when it was held.
    promise<sync_reply> to;
  };

  struct held_next {
    uint64_t id = 0;
    uint64_t epoch = 0, after = 0;
    promise<next_reply> to;
  };

  caf::result<sync_reply> sync(const sync_request& ask);
  void sync(const sync_request& ask, promise<sync_reply> to, bool may_hold);
  void hold(const sync_request& ask, promise<sync_reply> to);
  void owner_down(const node_id& who);
  caf::result<submit_status> submit(const owner& from, uint64_t lease,
                                    trajectory& what);
  caf::result<attach_reply> attach(const owner& learner);
  caf::result<next_reply> next_batch(uint64_t epoch, uint64_t after);
  void next_batch(uint64_t epoch, uint64_t after, promise<next_reply> to,
                  bool may_hold);
  void hold(uint64_t epoch, uint64_t after, promise<next_reply> to);
  caf::result<void> commit(uint64_t epoch, const step_report& report);
  caf::result<void> reply_later(result<void> outcome);
  buffer_status status() const;

  void later(answer one);
  void flush();
  void serve_held();
  void release_sync(uint64_t id);
  void release_next(uint64_t id);
  void tick();
  double now() const;

  interface::pointer self_;
  mailbox<interface::base> mail_;
  buffer_parts parts_;
  std::vector<answer> answers_;
  std::list<held_sync> syncs_;
  std::list<held_next> nexts_;
  uint64_t last_held_ = 0;
  uint64_t served_revision_ = 0;
  uint64_t committed_ = 0;
  bool draining_ = false;
  bool flushing_ = false;
  bool failing_ = false;
};

} // namespace swage
