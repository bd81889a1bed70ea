#pragma once

#include "runtime/error.hpp"
#include "runtime/learn/trainer.hpp"
#include "runtime/policy/model_config.hpp"
#include "runtime/policy/torch/qwen3_network.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace swage {

/// A padded batch and what the objective needs of each predicted token.
struct micro_batch {
  padded_batch tokens;
  std::vector<size_t> samples;   ///< Where they stood in the step's list.
  std::vector<float> shares;     ///< [rows], of each token in the mean.
  std::vector<float> behaviour;  ///< [rows]; empty for SFT.
  std::vector<float> advantages; ///< [rows]; empty for SFT.
  std::vector<float> weights;    ///< [rows]; empty where no token has one.
  std::vector<bool> on_policy;   ///< [rows]; empty for SFT.
};

/// What one token of each sample counts in the step's mean: tokens are averaged
/// over their group, then groups are (Eq. 5). Of groups and tokens, those count
/// that are kept (Eq. 17), or `all` of them. [samples]
std::vector<double> token_shares(std::span<const train_sample> samples,
                                 bool all);

/// Sorts the kept samples by length and cuts them into batches of at most
/// `token_budget` padded tokens; a longer sample is a batch of its own.
/// `shares` may be empty if no loss is computed.
std::vector<micro_batch> make_micro_batches(std::span<const train_sample> all,
                                            std::span<const double> shares,
                                            objective what,
                                            uint32_t token_budget);

/// Fails with `ec::invalid_argument`, naming the sample, if one cannot be
/// trained: tokens outside the vocabulary, nothing to predict,
/// log-probabilities that are missing or not finite. What is not kept is not
/// looked at.
result<void> check_samples(std::span<const train_sample> all, objective what,
                           const model_config& config);

} // namespace swage
