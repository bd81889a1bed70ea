#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/measure_process.hpp"
#include "runtime/verify/measure_values.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  /// input. Neither its rows nor its elements were seen before. Elements of
  /// which there are few, such as integers and those of half types, are: a
  /// table of all that there are is a way to compute.
  result<void> next_inputs(const draw_tools& tools);

  /// Chooses inputs like those that a candidate is tested with, of the next of
  /// the task's kinds of stress. Where inputs can be mixed a few elements are of
  /// that kind, at secret places.
  /// @pre Inputs were chosen before; the task has such a kind.
  result<void> next_stressed(const draw_tools& tools);

  /// What the chosen inputs are like.
  case_kind kind() const { return kind_; }

  /// Chooses another state, near the drawn one: what a candidate has kept that
  /// follows from its parameters is right no longer. Constants stay, and what
  /// shares a part of its memory. What is linear in the change, or smooth over
  /// an eighth of a value, can still be made out of what was kept.
  void next_state(secret_seeds& seeds);

  /// Copies inputs and state to where a call reads them, and does no more: a
  /// process that sleeps for long is slow to wake. Before that they are in
  /// memory that no timed process sees.
  void hand_over();

  /// Takes the inputs away that lie there.
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

  result<void> allocate(const judged_task& what, uint32_t pool_cases);
  result<void> draw_state(const draw_tools& tools);
  result<void> fill(const draw_tools& tools);
  result<void> draw_stressed(const draw_tools& tools);
  void look_at_habits();
  void mix_two(secret_seeds& seeds);
  void hand_over_state();

  /// Of the pool; behind them are the place of a mixture and the stressed ones
  /// that are mixed into it.
  uint32_t drawn_cases() const { return drawn_cases_; }
  uint32_t stressed_case(uint32_t which) const {
    return drawn_cases_ + 1 + which;
  }

  signature args_;
  case_layout layout_, pool_layout_, results_layout_;
  uint64_t state_ = 0; ///< Seed of the drawn state, as long as the stand stands.
  std::optional<shared_memory> pool_, memory_;
  std::optional<shared_memory> results_; ///< The reference's own.
  uint32_t drawn_cases_ = 1;
  uint32_t unused_ = 0;  ///< Drawn cases that no call has seen.
  uint32_t present_ = 0; ///< Inputs of the pool that are handed over.
  bool filled_ = false;
  std::vector<value_habit> habits_; ///< Of each input.

  std::vector<case_kind> stressed_; ///< Kinds of the stressed cases in the pool.
  uint64_t stress_turn_ = 0;
  case_kind kind_ = case_kind::plain;

  struct free_tensor {
    size_t index = 0;  ///< In the state.
    size_t origin = 0; ///< The one that it is the same memory as, mostly itself.
    std::vector<std::byte> drawn, next;
  };
  std::vector<free_tensor> free_state_;
  bool state_is_small_ = true; ///< Is made before it is handed over.
  uint64_t state_turn_ = 0;    ///< Seed of the next state,
  bool state_is_due_ = false;  ///< which was not handed over.
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
