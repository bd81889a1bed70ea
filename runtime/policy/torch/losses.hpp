#pragma once

#include "runtime/learn/trainer.hpp"
#include "runtime/policy/torch/micro_batches.hpp"

#include <array>

namespace at {
class Tensor;
}

namespace swage {

/// Sums over the tokens of a micro batch, for the report. Counts are doubles
/// too, so that ranks can add all of it up at once.
struct loss_sums {
  double loss = 0;
  double abs_log_ratio = 0;
  double on_policy_ratio = 0; ///< Of it, that of on-policy tokens.
  double on_policy_tokens = 0;
  double entropy = 0;
  double clipped = 0;
  double tokens = 0;
};

/// All of them.
constexpr std::array loss_figures = {
  &loss_sums::loss,             &loss_sums::abs_log_ratio,
  &loss_sums::on_policy_ratio,  &loss_sums::on_policy_tokens,
  &loss_sums::entropy,          &loss_sums::clipped,
  &loss_sums::tokens};

/// What a micro batch adds to the step's loss, s_t being a token's share in its
/// mean:
///   SFT:  -sum_t s_t log p_t
///   GRPO: -sum_t s_t min(rho_t A, clip(rho_t, 1 - low, 1 + high) A)
///         + beta sum_t s_t (exp(d_t) - d_t - 1)
/// with rho_t = p_t / mu_t and d_t = log p_ref,t - log p_t (the k3 estimator).
/// Where tokens have weights w_t, as IcePop and TIS give them, the policy's
/// term is multiplied by w_t, rho_t is p_t over p_t of the step's beginning,
/// and a token of weight 0 is left out of both sums.
/// Log-ratios are bounded where they are exponentiated, and nowhere else.
/// `reference` holds log p_ref of each row; it is undefined where beta is 0.
at::Tensor loss_of(const at::Tensor& logprobs, const at::Tensor& reference,
                   const micro_batch& batch, const train_options& options);

/// Figures of the same micro batch, as numbers.
loss_sums sums_of(const at::Tensor& logprobs, const micro_batch& batch,
                  const train_options& options);

} // namespace swage
