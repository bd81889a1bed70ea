#include "actors/learner_rank.hpp"

#include "actors/errors.hpp"
#include "runtime/learn/train_batch.hpp"

#include <utility>

namespace swage {

learner_rank_state::learner_rank_state(rank_actor::pointer, rank_parts parts)
  : parts_(std::move(parts)) {
  // nop
}

rank_actor::behavior_type learner_rank_state::make_behavior() {
  return {
    [this](restore_atom, const std::string& directory) {
      return restore(directory);
    },
    [this](train_atom, const rank_job& job) { return train(job); },
  };
}

caf::result<void> learner_rank_state::restore(const std::string& directory) {
  if (auto loaded = parts_.model->load(directory); !loaded)
    return drop_out(loaded.error());
  return caf::unit;
}

caf::result<void> learner_rank_state::train(const rank_job& job) {
  if (!parts_.model)
    return to_caf({ec::infra, "this rank of the learner has failed before"});
  busy_scope busy{*parts_.counter};
  auto trained = train_batch(*parts_.model, job.batch, job.begins_stage,
                             parts_.settings);
  if (!trained)
    return drop_out(trained.error());
  return caf::unit;
}

caf::result<void> learner_rank_state::drop_out(const error& reason) {
  parts_.model.reset();
  return to_caf(reason);
}

} // namespace swage
