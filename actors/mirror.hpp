#pragma once

#include "actors/compute.hpp"
#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "runtime/config/config.hpp"
#include "runtime/learn/floor_estimate.hpp"
#include "runtime/learn/judge_batch.hpp"
#include "runtime/learn/trainer.hpp"

#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace swage {

/// What a mirror is made of.
struct mirror_parts {
  std::shared_ptr<scorer> model;
  config settings;
  std::shared_ptr<progress_counter> counter;
  /// Called for each batch that was judged; may be empty.
  std::function<void(const drift_report&)> on_drift;
};

/// Stands between buffer and learner: takes the next recorded batch, scores it
/// under the newest snapshot (version step - 1) and judges the drift of every
/// sample. A redone batch keeps its recorded judgements.
///
///   next -> batch -> samples -> [weights -> scores -> judged -> stored] -> answer
///
/// One batch at a time; a second `next` replaces the first.
class mirror_state {
public:
  using interface = mirror_actor;

  mirror_state(mirror_actor::pointer self, mirror_parts parts);

  mirror_actor::behavior_type make_behavior();

private:
  /// The batch that is being made ready.
  struct work {
    uint64_t turn = 0; ///< Answers that belong to an earlier one are dropped.
    uint64_t epoch = 0;
    judged_batch what;
    size_t missing = 0;
    std::vector<scored_tokens> scored;
    bool rescoring = false; ///< A rollout owes its own scores of some samples.
    caf::typed_response_promise<judged_reply> answer;
  };

  caf::result<judged_reply> next(uint64_t epoch, uint64_t after);
  void on_batch(next_reply reply);
  void fetch(size_t index);
  void on_complete();
  void pull_weights();
  void score();
  void measure_floor();
  void judge();
  void store();
  void deliver();
  void fail(error reason);
  bool current(uint64_t turn) const { return work_ && work_->turn == turn; }
  double timeout() const;

  mirror_actor::pointer self_;
  mailbox<mirror_actor::base> box_;
  mirror_parts parts_;
  mirror_wiring wiring_;
  floor_estimate floor_;
  std::optional<work> work_;
  drift_report drift_;
  uint64_t turns_ = 0;
};

} // namespace swage
