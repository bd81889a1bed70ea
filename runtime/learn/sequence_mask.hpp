#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/config/config.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace swage {

/// How far the policy that learns is from the policy that wrote, over one
/// sample's trained tokens. Nothing is clamped: these are the statistics, and
/// an outlier must be visible in them.
struct drift_statistic {
  double mean_abs = 0;    ///< mean_t |log rho_t|
  double mean_signed = 0; ///< mean_t log rho_t
};

/// `current` and `behaviour` are log-probabilities of the same tokens, at the
/// same temperature. Both empty: zero drift.
/// @pre Equal sizes.
drift_statistic drift(std::span<const float> current,
                      std::span<const float> behaviour);

/// Which sequences are kept, or how their tokens are weighed.
enum class mask_kind : uint8_t {
  none,      ///< All.
  mirrorpop, ///< mean_t |log rho_t| <= delta (Eq. 18-20).
  geometric, ///< |mean_t log rho_t| <= delta: signed, for comparison.
  random,    ///< As many as MirrorPop would drop, drawn at random.
  icepop,    ///< By token: rho_t where low <= rho_t <= high, else 0.
  tis,       ///< By token: min(rho_t, cap), truncated importance sampling.
};

/// Whether the rule gives every token a weight and keeps the sequences.
bool weighs_tokens(mask_kind kind);

struct mask_rule {
  mask_kind kind = mask_kind::mirrorpop;
  double delta = 0.02;
  uint64_t seed = 0; ///< Of `random`.
  double low = 0.5, high = 5; ///< Of `icepop`.
  double cap = 2;             ///< Of `tis`.
};

/// The rule that a configuration names. `seq_mask_delta = 0` is auto: a
/// multiple of the measured floor, at least `seq_mask_auto_min`.
mask_rule make_mask_rule(const learner_config& settings, double floor);

/// Judges every sample of batch `step` from its drift. The j-th result belongs
/// to the j-th statistic; item, index and staleness are the caller's.
std::vector<judgement> judge_drift(std::span<const drift_statistic> samples,
                                   const mask_rule& rule, uint64_t step);

/// Weight of each token by a rule that weighs tokens; what cannot be compared
/// weighs nothing. Compared as logarithms, so that nothing overflows.
/// @pre Equal sizes.
std::vector<float> token_weights(std::span<const float> current,
                                 std::span<const float> behaviour,
                                 const mask_rule& rule);

/// Summary of the judgements of one batch. `advantages` is parallel.
drift_report summarise(std::span<const judgement> judgements,
                       std::span<const double> advantages,
                       const mask_rule& rule);

} // namespace swage
