#include "runtime/learn/train_samples.hpp"

#include "runtime/learn/advantage.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace swage {

bool is_reinforcement(stage_kind kind) {
  return kind == stage_kind::rl_single || kind == stage_kind::rl_multi;
}

std::vector<const turn*> trained_turns(stage_kind stage, item_kind kind,
                                       const trajectory& sample) {
  std::vector<const turn*> out;
  if (sample.turns.empty())
    return out;
  if (!is_reinforcement(stage))
    return {&sample.turns.back()};
  if (kind != item_kind::repair)
    return {&sample.turns.front()};
  for (auto& one : sample.turns)
    out.push_back(&one);
  return out;
}

uint64_t oldest_trained_version(stage_kind stage, item_kind kind,
                                const trajectory& sample) {
  auto oldest = std::numeric_limits<uint64_t>::max();
  for (auto* one : trained_turns(stage, kind, sample))
    for (auto& run : one->versions)
      oldest = std::min(oldest, run.version);
  return oldest == std::numeric_limits<uint64_t>::max() ? 0 : oldest;
}

std::vector<double> batch_advantages(const batch& what,
                                     const std::vector<trajectory>& samples,
                                     double std_floor) {
  std::vector<double> out(samples.size(), 1.0);
  if (!is_reinforcement(what.kind))
    return out;
  std::map<uint64_t, std::vector<size_t>> groups;
  for (size_t i = 0; i < samples.size(); ++i)
    groups[samples[i].item].push_back(i);
  for (auto& [item, members] : groups) {
    std::vector<double> returns;
    for (auto i : members)
      returns.push_back(samples[i].ret);
    auto advantage = advantages(returns, std_floor);
    for (size_t j = 0; j < members.size(); ++j)
      out[members[j]] = advantage[j];
  }
  return out;
}

namespace {

/// At most `count` elements from `begin` on.
std::vector<float> part_of(const std::vector<float>& all, size_t begin,
                           size_t count) {
  begin = std::min(begin, all.size());
  auto end = std::min(begin + count, all.size());
  return {all.begin() + static_cast<long>(begin),
          all.begin() + static_cast<long>(end)};
}

} // namespace

std::vector<train_sample> make_train_samples(const judged_batch& from,
                                             const learner_config& settings) {
  const auto rl = is_reinforcement(from.what.kind);
  const auto advantage
    = batch_advantages(from.what, from.samples, settings.std_floor);
  std::vector<train_sample> out;
  for (size_t i = 0; i < from.samples.size(); ++i) {
    size_t weighed = 0; // Of its tokens, turn after turn.
    auto kind = i < from.what.members.size() ? from.what.members[i].kind
                                             : item_kind::task;
    for (auto* one : trained_turns(from.what.kind, kind, from.samples[i])) {
      train_sample sample;
      sample.prompt = one->prompt;
      sample.response = one->response;
      sample.advantage = advantage[i];
      if (rl) {
        sample.behaviour = one->logprobs;
        if (settings.token_mean == "group")
          sample.group = from.samples[i].item;
      }
      if (i < from.judgements.size()) {
        auto& judged = from.judgements[i];
        sample.kept = judged.kept;
        sample.on_policy = rl && judged.staleness == 0;
        sample.weights = part_of(judged.weights, weighed, one->response.size());
        weighed += one->response.size();
      }
      out.push_back(std::move(sample));
    }
  }
  return out;
}

} // namespace swage
