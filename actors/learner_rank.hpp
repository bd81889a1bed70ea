#pragma once

#include "actors/compute.hpp"
#include "actors/protocol.hpp"
#include "runtime/config/config.hpp"
#include "runtime/learn/trainer.hpp"

#include <memory>

namespace swage {

/// What a further rank of a learner is made of.
struct rank_parts {
  std::shared_ptr<trainer> model; ///< Joined to the other ranks' trainers.
  config settings;
  std::shared_ptr<progress_counter> counter;
};

/// Trains its part of each batch. It decides nothing: the learner, which is the
/// first rank, hands it every batch in order, publishes, commits and writes the
/// checkpoints, which hold for all since all have the same parameters.
class learner_rank_state {
public:
  using interface = rank_actor;

  learner_rank_state(rank_actor::pointer self, rank_parts parts);

  rank_actor::behavior_type make_behavior();

private:
  caf::result<void> restore(const std::string& directory);
  caf::result<void> train(const rank_job& job);
  /// It takes no further part, which ranks that wait for it see at once.
  caf::result<void> drop_out(const error& reason);

  rank_parts parts_;
};

} // namespace swage
