#include "world.hpp"

#include "runtime/buffer/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

void world::require(bool holds, const std::string& what) const {
  if (!holds)
    throw violation(what);
}

void world::refresh() {
  if (memory_) {
    items_ = memory_->items();
    samples_ = memory_->samples();
    batches_ = memory_->batches();
    return;
  }
  auto image = journal_->load();
  require(image.has_value(), "the journal cannot be read");
  items_.clear();
  batches_.clear();
  for (auto& row : image->items)
    items_[row.what.id] = row;
  for (auto& row : image->batches)
    batches_[row.step] = row;
  // Of ended items no samples are loaded: what was seen of them stays.
  for (auto& row : image->samples)
    samples_[{row.item, row.index}] = row;
}

bool world::in_rl(const item_row& row) const {
  return core_->plan()[row.what.stage].is_rl();
}

void world::check_now() {
  check_items();
  check_batches();
  check_repairs();
}

void world::check_items() {
  uint64_t outstanding = 0;
  for (auto& [id, row] : items_) {
    require((row.status == item_status::discarded)
              == (row.reason != discard_reason::none),
            "discarded and only discarded items have a reason");
    bool waits = row.status == item_status::open
                 || row.status == item_status::verified
                 || (row.status == item_status::assigned
                     && !batches_.at(row.step).committed);
    outstanding += in_rl(row) && waits ? 1 : 0;
    require(row.what.attempts <= config_.buffer.max_attempts, "attempts");
  }
  auto bound = (config_.buffer.max_staleness + 1)
               * config_.buffer.groups_per_batch;
  require(outstanding <= bound,
          fmt::format("{} items are outstanding, the bound is {}", outstanding,
                      bound));
  for (auto& [where, row] : samples_) {
    std::pair mark{row.ret, row.oldest};
    auto [known, first] = stored_.try_emplace(where, mark);
    require(known->second == mark, "a stored sample changed");
    if (first)
      require(sent_[where].contains(mark), "a sample was stored unsent");
  }
}

void world::check_batches() {
  std::set<uint64_t> trained;
  uint64_t hash = 0, expected = 1, committed = 0;
  for (auto& [step, row] : batches_) {
    require(step == expected++, "batches are numbered without a gap");
    require(!row.committed || committed == step - 1, "commits are in order");
    committed += row.committed ? 1 : 0;
    hash = row.voided ? chain_void(hash, step)
                      : chain_next(hash, step, row.members);
    require(hash == row.hash, "the chain recomputed is not the stored one");
    require(row.voided == (row.deliveries > config_.buffer.max_deliveries),
            "voided above max_deliveries and only then");
    if (!core_->plan()[row.stage].is_rl())
      continue;
    std::set<uint64_t> items;
    for (auto& one : row.members)
      items.insert(one.item);
    require(items.size() == config_.buffer.groups_per_batch,
            "a batch has B groups");
    for (auto id : items) {
      require(trained.insert(id).second, "an item is in two batches");
      auto& item = items_.at(id);
      require(row.voided
                ? item.reason == discard_reason::poison
                : item.status == item_status::assigned && item.step == step,
              "a batch's item does not say so");
    }
    for (auto& one : row.members) {
      auto found = samples_.find({one.item, one.index});
      if (found == samples_.end())
        continue;
      require(!found->second.dropped, "a dropped sample is trained");
      auto oldest = found->second.oldest;
      require(oldest <= step - 1
                && step - 1 - oldest <= config_.buffer.max_staleness,
              fmt::format("batch {} trains version {}", step, oldest));
    }
  }
  for (auto step : acknowledged_)
    require(step <= committed, "an acknowledged commit was forgotten");
}

void world::check_repairs() {
  if (!memory_)
    return; // Needs every sample of ended items.
  std::map<uint64_t, uint32_t> children;
  for (auto& [id, row] : items_)
    if (row.parent != 0)
      ++children[row.parent];
  for (auto& [id, row] : items_) {
    uint32_t judged = 0, failed = 0, stored = 0;
    for (uint32_t i = 0; i < row.samples; ++i)
      if (auto found = samples_.find({id, i}); found != samples_.end()) {
        ++stored;
        judged += found->second.dropped ? 0 : 1;
        failed += !found->second.dropped && found->second.ret == -1 ? 1 : 0;
      }
    bool wanted = in_rl(row) && stored == row.samples
                  && row.status != item_status::queued
                  && row.reason != discard_reason::task_invalid
                  && judged >= config_.buffer.min_group && failed == judged
                  && row.what.depth < config_.buffer.retry_depth
                  && config_.buffer.retry_probability > 0;
    require(children[id] == (wanted ? 1u : 0u),
            fmt::format("item {} has {} repairs, expected {}", id, children[id],
                        wanted));
  }
}

void world::check_end() {
  for (auto& [id, row] : items_) {
    bool ended = row.status == item_status::discarded
                 || row.status == item_status::collected
                 || row.status == item_status::scored
                 || (row.status == item_status::assigned
                     && batches_.at(row.step).committed);
    require(ended,
            fmt::format("item {} is {} at the end", id, to_string(row.status)));
    counts_.repairs += row.parent != 0 && row.what.attempts > 0 ? 1 : 0;
    counts_.stale += row.reason == discard_reason::stale ? 1 : 0;
    counts_.no_spread += row.reason == discard_reason::no_spread ? 1 : 0;
    counts_.evicted += row.reason == discard_reason::evicted ? 1 : 0;
  }
  for (auto& [step, row] : batches_)
    counts_.voided += row.voided ? 1 : 0;
  uint64_t steps = 0;
  for (auto& row : core_->plan())
    steps += row.batches;
  require(batches_.size() == steps, "the run has another number of batches");
}

} // namespace swage::test
