#include "runtime/policy/draw.hpp"

#include "kernels/aligned.hpp"
#include "kernels/cpu_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace swage {

namespace {

/// Uniform in [0, 1), a function of the sequence's seed and the position.
double uniform(uint64_t seed, uint64_t position) {
  uint64_t x = seed + (position + 1) * 0x9e3779b97f4a7c15u;
  // splitmix64's output, twice: seeds that differ little are common.
  for (int i = 0; i < 2; ++i) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
}

float scale_of(float temperature) {
  return temperature > 0 ? 1.0f / temperature : 1.0f;
}

/// exp(logits * scale - max) of a row, and what makes log-probabilities of it.
struct distribution {
  std::span<const float> weights;
  float scale = 1;
  kernels::softmax_sums sums;

  float logprob(float logit) const {
    return static_cast<float>(static_cast<double>(logit * scale)
                              - static_cast<double>(sums.max)
                              - std::log(sums.sum));
  }
};

distribution distribution_of(std::span<const float> logits, float temperature) {
  thread_local kernels::float_buffer weights;
  weights.resize(logits.size());
  distribution out;
  out.scale = scale_of(temperature);
  out.sums = kernels::cpu().softmax_row(logits.data(), out.scale,
                                        static_cast<int64_t>(logits.size()),
                                        weights.data());
  out.weights = weights;
  return out;
}

/// The first token whose cumulative weight exceeds `target`; rounding may
/// leave none, then the last that has any weight.
int32_t pick(std::span<const float> weights, double target) {
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0)
      continue;
    last = i;
    target -= static_cast<double>(weights[i]);
    if (target < 0)
      break;
  }
  return static_cast<int32_t>(last);
}

/// Like `pick`, among the smallest set of tokens that holds `top_p` of the
/// mass, the likeliest first.
int32_t pick_nucleus(const distribution& from, float top_p, double draw) {
  thread_local std::vector<std::pair<float, int32_t>> nucleus;
  nucleus.clear();
  double needed = from.sums.sum * static_cast<double>(top_p);
  // All tokens below this weight together hold less than 1 - top_p.
  double least = (from.sums.sum - needed)
                 / static_cast<double>(from.weights.size()) * 0.999;
  for (size_t i = 0; i < from.weights.size(); ++i)
    if (static_cast<double>(from.weights[i]) >= least)
      nucleus.emplace_back(from.weights[i], static_cast<int32_t>(i));
  std::sort(nucleus.begin(), nucleus.end(), [](auto& a, auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  double mass = 0;
  size_t count = 0;
  while (count < nucleus.size() && (count == 0 || mass < needed))
    mass += static_cast<double>(nucleus[count++].first);
  double target = draw * mass;
  for (size_t i = 0; i < count; ++i) {
    target -= static_cast<double>(nucleus[i].first);
    if (target < 0)
      return nucleus[i].second;
  }
  return nucleus[count - 1].second;
}

} // namespace

token_draw draw_token(std::span<const float> logits,
                      const draw_options& options) {
  auto from = distribution_of(logits, options.temperature);
  token_draw out;
  if (options.temperature <= 0)
    out.token = static_cast<int32_t>(
      std::max_element(logits.begin(), logits.end()) - logits.begin());
  else if (options.top_p < 1)
    out.token = pick_nucleus(from, options.top_p,
                             uniform(options.seed, options.position));
  else
    out.token = pick(from.weights,
                     uniform(options.seed, options.position) * from.sums.sum);
  out.logprob = from.logprob(logits[static_cast<size_t>(out.token)]);
  return out;
}

float log_probability(std::span<const float> logits, int32_t token,
                      float temperature) {
  return distribution_of(logits, temperature)
    .logprob(logits[static_cast<size_t>(token)]);
}

} // namespace swage
