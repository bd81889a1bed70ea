#pragma once

#include "actors/verifier.hpp"
#include "tools/bench/decode_gate.hpp"
#include "tools/bench/run_timeline.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <vector>

namespace swage::bench {

struct judge_options {
  bool hold = false;        ///< Until nothing is decoded: lock-step.
  double wait_median_s = 0; ///< Of each verification's wait; 0: none.
  uint64_t seed = 0;        ///< Of the waits.
};

/// The benchmark's judge: the run's own, behind what the options say. Any
/// number of slots share them. Thread-safe.
class run_judge {
public:
  run_judge(std::vector<judge_function> inside, run_timeline& times,
            decode_gate& gate, judge_options options);

  verdict judge(const verify_request& request, const std::stop_token& stop);

  uint32_t verdicts() const { return verdicts_; }
  uint32_t cached_verdicts() const { return cached_; }

private:
  void wait(uint64_t candidate, const std::stop_token& stop);
  /// Empty where it was stopped.
  judge_function borrow(const std::stop_token& stop);
  void give_back(judge_function one);
  void note(const verdict& outcome, run_timeline::time begin);

  run_timeline& times_;
  decode_gate& gate_;
  judge_options options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<judge_function> free_;
  std::atomic<uint32_t> verdicts_ = 0, cached_ = 0;
};

} // namespace swage::bench
