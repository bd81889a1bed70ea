#include "runtime/buffer/sources.hpp"

#include "runtime/buffer/hash_chain.hpp"
#include "runtime/buffer/seeded.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace swage {

namespace {

constexpr size_t kept_per_task = 8;

// Keeps the streams of one run apart.
constexpr uint64_t level_stream = 1, pass_stream = 2, epoch_stream = 3,
                   choice_stream = 4;

} // namespace

task_source::task_source(std::span<const task> tasks,
                         std::span<const double> level_weights, uint64_t seed)
  : seed_(seed) {
  std::map<int32_t, level> by_level;
  for (size_t i = 0; i < tasks.size(); ++i)
    by_level[tasks[i].level].tasks.push_back(i);
  double sum = 0;
  for (auto& [number, one] : by_level) {
    auto at = static_cast<size_t>(number - 1);
    one.weight = number >= 1 && at < level_weights.size() ? level_weights[at]
                                                          : 0;
    sum += one.weight;
  }
  for (auto& [number, one] : by_level) {
    if (sum <= 0)
      one.weight = 1;
    if (one.weight > 0)
      levels_.push_back(std::move(one));
  }
}

size_t task_source::at(uint64_t n) {
  if (n + 1 < position_) {
    position_ = 0;
    for (auto& one : levels_)
      one.draws = 0;
  }
  while (position_ <= n)
    current_ = next();
  return current_;
}

size_t task_source::next() {
  double sum = 0;
  for (auto& one : levels_)
    sum += one.weight;
  double point = uniform(mix({seed_, level_stream, position_++})) * sum;
  size_t chosen = 0;
  while (chosen + 1 < levels_.size() && point >= levels_[chosen].weight)
    point -= levels_[chosen++].weight;
  auto& one = levels_[chosen];
  auto size = static_cast<uint32_t>(one.tasks.size());
  if (one.draws % size == 0 || one.order.empty())
    one.order = shuffled(mix({seed_, pass_stream, chosen, one.draws / size}),
                         size);
  return one.tasks[one.order[one.draws++ % size]];
}

example_source::example_source(std::vector<example> pool, uint64_t seed)
  : seed_(seed) {
  std::sort(pool.begin(), pool.end(), [](const example& a, const example& b) {
    return std::tie(a.item, a.index) < std::tie(b.item, b.index);
  });
  std::set<std::pair<uint64_t, uint64_t>> seen;
  std::map<uint64_t, std::vector<example>> sampled;
  for (auto& one : pool) {
    if (!seen.emplace(one.task, one.text_hash).second)
      continue;
    if (!one.sampled)
      always_.push_back(one);
    else if (sampled[one.task].size() < kept_per_task)
      sampled[one.task].push_back(one);
  }
  for (auto& [key, examples] : sampled)
    by_task_.push_back(std::move(examples));
  per_epoch_ = always_.size() + by_task_.size();
}

void example_source::make_epoch(uint64_t epoch) {
  if (epoch == epoch_)
    return;
  std::vector<batch_member> all;
  for (auto& one : always_)
    all.push_back({one.item, one.index, item_kind::example});
  for (size_t i = 0; i < by_task_.size(); ++i) {
    auto& choices = by_task_[i];
    auto at = mix({seed_, choice_stream, epoch, i}) % choices.size();
    all.push_back({choices[at].item, choices[at].index, item_kind::example});
  }
  order_.clear();
  for (auto i : shuffled(mix({seed_, epoch_stream, epoch}),
                         static_cast<uint32_t>(all.size())))
    order_.push_back(all[i]);
  epoch_ = epoch;
}

std::vector<batch_member> example_source::batch(uint64_t number,
                                                uint32_t count) {
  std::vector<batch_member> members;
  if (per_epoch_ == 0)
    return members;
  for (uint64_t at = number * count; at < (number + 1) * count; ++at) {
    make_epoch(at / per_epoch_);
    members.push_back(order_[at % per_epoch_]);
  }
  std::sort(members.begin(), members.end(), comes_before);
  return members;
}

} // namespace swage
