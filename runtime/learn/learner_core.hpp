#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/store/checkpoint.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace swage {

/// What the learner's shell does next.
enum class learner_action : uint8_t {
  attach,     ///< Ask the buffer for an epoch.
  publish,    ///< Copy the weights and hand them to the publisher.
  ask,        ///< Pull the next judged batch after `step()`.
  train,      ///< Train the batch just received.
  commit,     ///< Tell the buffer that `step()` is done.
  checkpoint, ///< Write a checkpoint of `step()`.
  announce,   ///< Tell the buffer of the checkpoint.
  finish,     ///< All done.
  failed,     ///< See `reason()`.
};

/// The order in which a learner does things. Recovery is redo: after a restart
/// it trains the recorded batches after its checkpoint again, and publishes
/// nothing before it has caught up with the last committed one.
///
///   attach -> [publish] -> ask -> train -> [publish] -> commit
///                           ^                            |
///                           +---- [checkpoint, announce] +
///
/// A plain state machine: each event returns the next action.
class learner_core {
public:
  /// A checkpoint every `checkpoint_interval` steps and one at the end.
  explicit learner_core(uint32_t checkpoint_interval);

  /// Begins from `restored`, or from version 0.
  learner_action start(const std::optional<checkpoint_info>& restored);

  /// Refuses a checkpoint whose hash is not the journal's.
  learner_action on_attached(const attach_reply& reply);
  learner_action on_published();
  learner_action on_next(const judged_reply& reply);
  learner_action on_trained();
  learner_action on_committed();
  learner_action on_checkpointed();
  learner_action on_announced();

  /// The batch at hand is finished, then a checkpoint written, then the end.
  void request_stop() { stopping_ = true; }

  uint64_t epoch() const { return epoch_; }
  uint64_t step() const { return step_; }
  uint64_t hash() const { return hash_; }
  stage_kind stage() const { return stage_; }
  /// Whether the batch just received begins a stage.
  bool stage_changed() const { return stage_changed_; }
  const std::string& reason() const { return reason_; }

private:
  learner_action fail(std::string reason);
  bool caught_up() const { return step_ >= last_committed_; }

  uint32_t checkpoint_interval_;
  uint64_t epoch_ = 0;
  uint64_t step_ = 0;
  uint64_t hash_ = 0;
  uint64_t last_committed_ = 0;
  uint64_t last_checkpoint_ = 0;
  uint64_t pending_step_ = 0;
  uint64_t pending_hash_ = 0;
  stage_kind stage_ = stage_kind::teach;
  bool stage_changed_ = false;
  bool stopping_ = false;
  bool over_ = false;
  std::string reason_;
};

} // namespace swage
