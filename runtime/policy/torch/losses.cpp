#include "runtime/policy/torch/losses.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace swage {

using at::Tensor;

namespace {

// exp(20) is 5e8: further from the policy than any ratio that is kept, and
// nowhere near overflow.
constexpr double max_log_ratio = 20;

Tensor bounded_exp(const Tensor& x) {
  return x.clamp(-max_log_ratio, max_log_ratio).exp();
}

Tensor tensor_of(const std::vector<float>& values) {
  // The vector outlives the micro batch's graph.
  return at::from_blob(const_cast<float*>(values.data()),
                       {static_cast<int64_t>(values.size())}, at::kFloat);
}

} // namespace

Tensor loss_of(const Tensor& logprobs, const Tensor& reference,
               const micro_batch& batch, const train_options& options) {
  if (options.what == objective::sft)
    return -(logprobs * tensor_of(batch.shares)).sum();
  const bool weighed = !batch.weights.empty();
  auto advantages = tensor_of(batch.advantages);
  // A step is one update: what it begins with is what it computes.
  auto from = weighed ? logprobs.detach() : tensor_of(batch.behaviour);
  auto ratio = bounded_exp(logprobs - from);
  auto clipped = ratio.clamp(1 - options.clip_low, 1 + options.clip_high);
  auto loss = -at::minimum(ratio * advantages, clipped * advantages);
  if (weighed)
    loss = loss * tensor_of(batch.weights);
  if (reference.defined()) {
    auto away = reference - logprobs;
    loss = loss + options.kl_coefficient * (bounded_exp(away) - away - 1);
  }
  if (weighed)
    loss = at::where(tensor_of(batch.weights) > 0, loss, at::zeros_like(loss));
  return (loss * tensor_of(batch.shares)).sum();
}

loss_sums sums_of(const Tensor& logprobs, const micro_batch& batch,
                  const train_options& options) {
  loss_sums out;
  out.tokens = static_cast<double>(batch.tokens.rows.size());
  if (options.what == objective::sft)
    return out;
  auto* logprob = logprobs.data_ptr<float>();
  for (size_t i = 0; i < batch.behaviour.size(); ++i) {
    double log_ratio = static_cast<double>(logprob[i])
                       - static_cast<double>(batch.behaviour[i]);
    double ratio = std::exp(log_ratio);
    double advantage = static_cast<double>(batch.advantages[i]);
    out.abs_log_ratio += std::abs(log_ratio);
    if (batch.on_policy[i]) {
      out.on_policy_ratio += std::abs(log_ratio);
      ++out.on_policy_tokens;
    }
    if (!batch.weights.empty())
      continue; // Nothing is clipped where the step begins.
    if ((advantage > 0 && ratio > 1 + options.clip_high)
        || (advantage < 0 && ratio < 1 - options.clip_low))
      out.clipped += 1;
  }
  return out;
}

} // namespace swage
