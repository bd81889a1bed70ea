#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/buffer/progress.hpp"
#include "runtime/observe/event_file.hpp"

#include <string>
#include <vector>

namespace swage {

/// The figures of one training step under the names that the field uses:
/// learner/, reward/, time/ and perf/.
std::vector<scalar> step_scalars(const step_report& report);

/// What the progress line says of the newest step of the stage that `now` is
/// in; nothing where `last` is of another stage. `mean_return` is smoothed.
std::string step_note(const step_report& last, const buffer_progress& now,
                      double mean_return);

/// The mirror's figures of one step: staleness/ and offpolicy/, with numerical
/// floor and policy lag apart and the masked share by sign of the advantage.
std::vector<scalar> drift_scalars(const drift_report& report);

} // namespace swage
