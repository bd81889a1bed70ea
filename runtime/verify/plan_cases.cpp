#include "runtime/verify/plan_cases.hpp"

#include <algorithm>
#include <limits>

namespace swage {

namespace {

/// All cases of a round are in memory at once, within this.
constexpr uint64_t round_bytes = uint64_t{256} << 20;

constexpr uint64_t max_fresh_state_bytes = uint64_t{64} << 20;

/// Signs come first, for most tasks' inputs are positive; then the others, from
/// a drawn one on. A task without fair stress inputs gets more of its own.
case_kind stress_kind(const std::vector<case_kind>& kinds, size_t index,
                      uint64_t turn) {
  if (kinds.empty())
    return case_kind::plain;
  return kinds[index == 0 || kinds.size() == 1
                 ? 0
                 : 1 + (turn + index) % (kinds.size() - 1)];
}

} // namespace

std::vector<judge_case> plan_cases(const judged_task& what,
                                   const eval_spec& eval,
                                   secret_seeds& seeds) {
  auto count = static_cast<size_t>(std::max(eval.trials, 1));
  auto stress = static_cast<size_t>(std::max(eval.stress, 0));
  std::vector<judge_case> cases(count + stress);
  auto turn = seeds.next();
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].seed = seeds.next();
    if (i >= count)
      cases[i].kind = stress_kind(what.stress, i - count, turn);
  }
  uint64_t state_bytes = 0;
  for (const auto& tensor : what.args.state)
    state_bytes += storage_bytes(tensor);
  // Drawing large weights anew for each test would cost more than it shows.
  if (state_bytes > max_fresh_state_bytes)
    for (auto& one : cases)
      one.state = cases[0].seed;
  return cases;
}

uint32_t cases_that_fit(const case_layout& layout, size_t count) {
  auto fit = round_bytes / std::max<uint64_t>(layout.bytes, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, count));
}

tolerance tolerance_in(const judge_case& drawn, dtype type,
                       const eval_spec& eval) {
  auto allowed = tolerance_of(type, eval);
  // Sums of large terms are right to their own size, not to 1.
  if (drawn.kind == case_kind::large)
    allowed.max_scale = std::numeric_limits<double>::infinity();
  return allowed;
}

} // namespace swage
