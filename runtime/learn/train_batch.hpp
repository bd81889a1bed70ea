#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/learn/trainer.hpp"

#include <string>
#include <vector>

namespace swage {

/// The knobs of this batch's stage, as the trainer takes them. Threads are
/// shared by the learner's ranks.
train_options options_for(const batch& what, const config& settings);

/// Says where the ranks are more than the threads that they are to share: each
/// has one at least, so more are used than the knob says.
std::vector<std::string> thread_warnings(const config& settings);

/// One step over a judged batch: what each rank of a learner does. A stage
/// begins with fresh moments and, in RL, with the policy it has as reference.
/// A batch that was voided changes nothing.
result<step_report> train_batch(trainer& model, const judged_batch& from,
                                bool begins_stage, const config& settings);

} // namespace swage
