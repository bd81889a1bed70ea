#include "runtime/policy/torch/micro_batches.hpp"

#include "runtime/policy/sequence_scorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace swage {

namespace {

size_t length_of(const train_sample& sample) {
  return sample.prompt.size() + sample.response.size();
}

/// What is wrong with a sample; empty if nothing is.
std::string fault_of(const train_sample& sample, objective what,
                     const model_config& config) {
  if (sample.prompt.empty() || sample.response.empty())
    return "has an empty prompt or response";
  if (length_of(sample) > static_cast<size_t>(config.max_positions))
    return fmt::format("has {} tokens, the model {} positions",
                       length_of(sample), config.max_positions);
  for (auto* part : {&sample.prompt, &sample.response})
    if (auto checked = check_tokens(*part, config); !checked)
      return "has " + checked.error().message;
  if (what == objective::sft)
    return {};
  if (sample.behaviour.size() != sample.response.size())
    return fmt::format("has {} behaviour log-probabilities for {} tokens",
                       sample.behaviour.size(), sample.response.size());
  for (float value : sample.behaviour)
    if (!std::isfinite(value))
      return fmt::format("has a behaviour log-probability of {}", value);
  if (!std::isfinite(sample.advantage))
    return fmt::format("has an advantage of {}", sample.advantage);
  if (!sample.weights.empty() && sample.weights.size() != sample.response.size())
    return fmt::format("has {} weights for {} tokens", sample.weights.size(),
                       sample.response.size());
  for (float value : sample.weights)
    if (!std::isfinite(value) || value < 0)
      return fmt::format("has a weight of {}", value);
  return {};
}

/// Tokens that are trained, or all of them.
size_t tokens_of(const train_sample& sample, bool all) {
  if (all)
    return sample.response.size();
  auto masked = std::count(sample.weights.begin(), sample.weights.end(), 0.0f);
  return sample.kept ? sample.response.size() - static_cast<size_t>(masked) : 0;
}

/// Writes one sample into row `row` of the batch.
void place(const train_sample& sample, int64_t row, objective what,
           micro_batch& out) {
  auto& batch = out.tokens;
  auto first = row * batch.length;
  auto to = std::copy(sample.prompt.begin(), sample.prompt.end(),
                      batch.tokens.begin() + first);
  std::copy(sample.response.begin(), sample.response.end(), to);
  // The row before a token predicts it.
  auto at = first + static_cast<int64_t>(sample.prompt.size()) - 1;
  for (size_t i = 0; i < sample.response.size(); ++i) {
    batch.rows.push_back(at + static_cast<int64_t>(i));
    batch.targets.push_back(sample.response[i]);
    if (what == objective::sft)
      continue;
    out.behaviour.push_back(sample.behaviour[i]);
    out.advantages.push_back(static_cast<float>(sample.advantage));
    out.on_policy.push_back(sample.on_policy);
    if (!sample.weights.empty())
      out.weights.push_back(sample.weights[i]);
  }
}

} // namespace

result<void> check_samples(std::span<const train_sample> all, objective what,
                           const model_config& config) {
  const train_sample* first = nullptr;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].kept)
      continue;
    auto fault = fault_of(all[i], what, config);
    first = first ? first : &all[i];
    if (fault.empty() && all[i].weights.empty() != first->weights.empty())
      fault = "has weights for its tokens where another has none";
    if (!fault.empty())
      return fail(ec::invalid_argument,
                  fmt::format("cannot train sample {}: it {}", i, fault));
  }
  return {};
}

std::vector<double> token_shares(std::span<const train_sample> samples,
                                 bool all) {
  std::map<uint64_t, size_t> tokens;
  for (auto& sample : samples)
    if (auto count = tokens_of(sample, all); count > 0)
      tokens[sample.group] += count;
  auto groups = static_cast<double>(tokens.size());
  std::vector<double> out(samples.size());
  for (size_t i = 0; i < samples.size(); ++i)
    if (auto group = tokens.find(samples[i].group); group != tokens.end())
      out[i] = 1 / (groups * static_cast<double>(group->second));
  return out;
}

std::vector<micro_batch> make_micro_batches(std::span<const train_sample> all,
                                            std::span<const double> shares,
                                            objective what,
                                            uint32_t token_budget) {
  std::vector<size_t> order;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].kept)
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return length_of(all[a]) > length_of(all[b]);
  });
  std::vector<micro_batch> out;
  for (size_t first = 0; first < order.size();) {
    micro_batch next;
    // The last token of a sequence predicts nothing.
    auto length = length_of(all[order[first]]) - 1;
    auto count = std::clamp<size_t>(token_budget / length, 1,
                                    order.size() - first);
    next.tokens.sequences = static_cast<int64_t>(count);
    next.tokens.length = static_cast<int64_t>(length);
    // One more for the last token of the last sequence, which is cut off.
    next.tokens.tokens.resize(count * length + 1);
    for (size_t i = 0; i < count; ++i) {
      auto index = order[first + i];
      next.samples.push_back(index);
      place(all[index], static_cast<int64_t>(i), what, next);
      if (!shares.empty())
        next.shares.resize(next.tokens.rows.size(),
                           static_cast<float>(shares[index]));
    }
    next.tokens.tokens.resize(count * length);
    first += count;
    out.push_back(std::move(next));
  }
  return out;
}

} // namespace swage
