#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swage::bench {

/// Who gets SIGKILL: the `swage train` that was started, the node that it runs
/// as its child, or both.
enum class victim : uint8_t { both, parent, node };

const char* to_string(victim whom);

/// What a kill waits for.
enum class moment : uint8_t {
  progress,   ///< The run has come as far as `at`.
  checkpoint, ///< As far as `at`, and then a checkpoint is being written.
  start_up,   ///< The process was just started.
};

/// One drawn kill.
struct planned_kill {
  moment when = moment::progress;
  double at = 0;      ///< Stage index plus the share of that stage.
  double delay_s = 0; ///< To wait beyond the moment.
  victim whom = victim::both;
};

/// `kills` of them in the order of a run of `stages` stages, drawn from `seed`.
/// About a fifth waits for a checkpoint within one of the stages in `training`,
/// about a fifth follows the start after the kill before it; at least one each
/// from three kills on. The others are drawn one from each equal part of the
/// run, so that no stage goes without. Of three in a row, each victim is one.
std::vector<planned_kill> draw_kills(uint64_t seed, uint32_t kills,
                                     uint32_t stages,
                                     const std::vector<uint32_t>& training);

} // namespace swage::bench
