#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/config/config.hpp"
#include "runtime/learn/trainer.hpp"

#include <vector>

namespace swage {

/// Whether batches of this stage have a behaviour policy to be judged against.
bool is_reinforcement(stage_kind kind);

/// The turns of a sample whose tokens are trained: the last one for examples,
/// the first one in multi-turn RL, all of them for repairs.
std::vector<const turn*> trained_turns(stage_kind stage, item_kind kind,
                                       const trajectory& sample);

/// Oldest version among the trained tokens; 0 if there are none.
uint64_t oldest_trained_version(stage_kind stage, item_kind kind,
                                const trajectory& sample);

/// One advantage per sample, standardised among the samples of its item.
/// Joined by item, never by position. Ones for stages without RL.
std::vector<double> batch_advantages(const batch& what,
                                     const std::vector<trajectory>& samples,
                                     double std_floor);

/// What the trainer gets: one entry per trained turn.
std::vector<train_sample> make_train_samples(const judged_batch& from,
                                             const learner_config& settings);

} // namespace swage
