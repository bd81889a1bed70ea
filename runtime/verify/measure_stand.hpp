#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/measure_process.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace swage {

/// Who draws what, for as long as one measurement takes.
struct draw_tools {
  const judged_task& what;
  judge_client& judge;
  secret_seeds& seeds;
};

/// What the measurements of one task share: the reference's process, which is
/// dear to start, and memory. Both sides read their inputs in one place, and of
/// two artifacts both write the same outputs: pages differ in speed, by how the
/// host keeps them.
class timing_stand {
public:
  /// Memory with a state in place, for `tools.what`; inputs are drawn
  /// `pool_cases` at a time. No reference yet.
  static result<std::unique_ptr<timing_stand>> open(const draw_tools& tools,
                                                    uint32_t pool_cases);

  /// Fills the pool if it is of no more use: what `next_inputs` draws later,
  /// others have to wait for.
  result<void> refill(const draw_tools& tools);

  /// Whether inputs cost nothing: those that are used up can be mixed.
  bool can_mix(const judged_task& what) const {
    return what.can_splice && drawn_cases() > 1;
  }

  /// Chooses the next inputs: drawn ones that no call has seen, or when those
  /// are used up a mixture of two, element by element, where that makes an
  /// input. The rows of a mixture are new if they are not short; its elements
  /// are not.
  result<void> next_inputs(const draw_tools& tools);

  /// Copies them to where a call reads them, and does no more: a process that
  /// sleeps for long is slow to wake. Before that they are in memory that no
  /// timed process sees.
  void hand_over();

  /// Takes away what lies there.
  void withdraw();

  /// Takes away all that a candidate saw or wrote.
  void clear();

  /// Poisons the outputs, and leaves them in the caches as eager's own are.
  void poison();

  /// Takes the inputs out of every cache, and only them: whoever empties the
  /// whole cache times how eager's interpreter gets it back.
  void cool();

  shared_memory& memory() { return *memory_; }
  shared_memory& results() { return *results_; }
  uint64_t state() const { return state_; }
  uint64_t bytes() const { return memory_->bytes() + pool_->bytes(); }

  std::unique_ptr<timed_process> reference;

private:
  explicit timing_stand(const signature& args);

  result<void> allocate(uint32_t pool_cases);
  result<void> draw_state(const draw_tools& tools);
  result<void> fill(const draw_tools& tools);
  void mix_two(secret_seeds& seeds);

  /// Of the pool; behind them is the place of a mixture.
  uint32_t drawn_cases() const { return pool_->cases() - 1; }

  signature args_;
  case_layout layout_, pool_layout_, results_layout_;
  uint64_t state_ = 0; ///< Seed of the state, for as long as the stand stands.
  std::optional<shared_memory> pool_, memory_;
  std::optional<shared_memory> results_; ///< The reference's own.
  uint32_t unused_ = 0;  ///< Drawn cases that no call has seen.
  uint32_t present_ = 0; ///< Inputs of the pool that are handed over.
  bool filled_ = false;
};

/// The stands of the tasks that were measured last.
class stand_rack {
public:
  /// Takes a task's stand out, if there is one.
  std::unique_ptr<timing_stand> take(const std::string& key);

  /// Puts it back for the next candidate, which finds nothing of this one's; a
  /// large one is not kept.
  void keep(const std::string& key, std::unique_ptr<timing_stand> used);

  void clear() { stands_.clear(); }

private:
  struct entry {
    std::string key;
    std::unique_ptr<timing_stand> stand;
  };

  std::list<entry> stands_; ///< Used last first.
};

} // namespace swage
