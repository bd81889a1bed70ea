#include "runtime/learn/learner_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swage {

learner_core::learner_core(uint32_t checkpoint_interval)
  : checkpoint_interval_(std::max(1u, checkpoint_interval)) {
  // nop
}

learner_action
learner_core::start(const std::optional<checkpoint_info>& restored) {
  if (restored) {
    step_ = last_checkpoint_ = restored->step;
    hash_ = restored->hash;
    if (!from_string(restored->stage, stage_))
      return fail(fmt::format("{}: unknown stage '{}'",
                              restored->directory.string(), restored->stage));
  }
  return learner_action::attach;
}

learner_action learner_core::on_attached(const attach_reply& reply) {
  epoch_ = reply.epoch;
  last_committed_ = reply.last_committed;
  if (step_ > reply.hashes.size())
    return fail(fmt::format("the checkpoint is of step {}, but the journal "
                            "ends at {}; start a new run from it with --fork",
                            step_, reply.hashes.size()));
  if (step_ > 0 && reply.hashes[step_ - 1] != hash_)
    return fail(fmt::format(
      "the checkpoint of step {} was trained on other batches than the "
      "journal records (hash {:016x}, journal {:016x})",
      step_, hash_, reply.hashes[step_ - 1]));
  return caught_up() ? learner_action::publish : learner_action::ask;
}

learner_action learner_core::on_published() {
  // The first publish follows `attach`: nothing was trained, so nothing is
  // to be committed.
  if (pending_step_ == 0)
    return learner_action::ask;
  return learner_action::commit;
}

learner_action learner_core::on_next(const judged_reply& reply) {
  switch (reply.status) {
    case next_status::fenced:
      return fail("another learner has taken over (epoch fenced)");
    case next_status::run_over:
      over_ = true;
      break;
    case next_status::ready: {
      auto& what = reply.what.what;
      if (what.step != step_ + 1)
        return fail(fmt::format("expected batch {}, got {}", step_ + 1,
                                what.step));
      // The weights that end a stage are kept: the batch is asked for again.
      if (what.begins_stage && step_ > last_checkpoint_)
        return learner_action::checkpoint;
      pending_step_ = what.step;
      pending_hash_ = what.hash;
      stage_changed_ = what.begins_stage;
      stage_ = what.kind;
      return learner_action::train;
    }
    default:
      break;
  }
  if (!over_ && !stopping_)
    return learner_action::ask;
  return step_ > last_checkpoint_ ? learner_action::checkpoint
                                  : learner_action::finish;
}

learner_action learner_core::on_trained() {
  step_ = pending_step_;
  hash_ = pending_hash_;
  return caught_up() ? learner_action::publish : learner_action::commit;
}

learner_action learner_core::on_committed() {
  pending_step_ = 0;
  last_committed_ = std::max(last_committed_, step_);
  if (stopping_ || step_ - last_checkpoint_ >= checkpoint_interval_)
    return learner_action::checkpoint;
  return learner_action::ask;
}

learner_action learner_core::on_checkpointed() {
  last_checkpoint_ = step_;
  return learner_action::announce;
}

learner_action learner_core::on_announced() {
  return stopping_ || over_ ? learner_action::finish : learner_action::ask;
}

learner_action learner_core::fail(std::string reason) {
  reason_ = std::move(reason);
  return learner_action::failed;
}

} // namespace swage
