#include "runtime/learn/judge_batch.hpp"

#include "runtime/learn/train_samples.hpp"

#include <algorithm>

namespace swage {

namespace {

std::vector<const turn*> turns_of(const judged_batch& what, size_t sample) {
  return trained_turns(what.what.kind, what.what.members[sample].kind,
                       what.samples[sample]);
}

void append(std::vector<float>& to, const std::vector<float>& part) {
  to.insert(to.end(), part.begin(), part.end());
}

} // namespace

result<std::vector<scored_tokens>> score_batch(const judged_batch& what,
                                               scorer& model,
                                               float temperature) {
  std::vector<scored_sequence> sequences;
  for (size_t i = 0; i < what.samples.size(); ++i)
    for (auto* one : turns_of(what, i))
      sequences.push_back({one->prompt, one->response});
  auto scored = model.score(sequences, temperature);
  if (!scored)
    return tl::unexpected(scored.error());
  std::vector<scored_tokens> out(what.samples.size());
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i)
    for (auto* one : turns_of(what, i)) {
      append(out[i].current, (*scored)[next++]);
      append(out[i].behaviour, one->logprobs);
    }
  return out;
}

std::vector<judgement> judge_batch(const judged_batch& what,
                                   std::span<const scored_tokens> scored,
                                   const mask_rule& rule, double floor) {
  std::vector<drift_statistic> statistics;
  for (auto& one : scored)
    statistics.push_back(drift(one.current, one.behaviour));
  auto out = judge_drift(statistics, rule, what.what.step);
  for (size_t i = 0; i < out.size(); ++i) {
    auto& one = out[i];
    auto& member = what.what.members[i];
    one.item = member.item;
    one.index = member.index;
    one.floor = floor;
    one.staleness = what.what.step - 1
                    - oldest_trained_version(what.what.kind, member.kind,
                                             what.samples[i]);
    if (!weighs_tokens(rule.kind))
      continue;
    one.weights = token_weights(scored[i].current, scored[i].behaviour, rule);
    one.kept = std::ranges::any_of(one.weights, [](float w) { return w > 0; });
  }
  return out;
}

} // namespace swage
