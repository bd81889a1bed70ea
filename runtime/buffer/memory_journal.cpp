#include "runtime/buffer/memory_journal.hpp"

#include <fmt/format.h>

namespace swage {

template <class Map>
void memory_journal::write(Map& table, const typename Map::key_type& at,
                           typename Map::mapped_type value) {
  count_down();
  auto found = table.find(at);
  if (found == table.end())
    undo_.push_back([&table, at] { table.erase(at); });
  else
    undo_.push_back(
      [&table, at, before = found->second] { table[at] = before; });
  table.insert_or_assign(at, std::move(value));
}

template <class Map>
void memory_journal::erase(Map& table, const typename Map::key_type& at) {
  count_down();
  auto found = table.find(at);
  undo_.push_back(
    [&table, at, before = std::move(found->second)] { table[at] = before; });
  table.erase(found);
}

void memory_journal::count_down() {
  if (crash_in_ > 0 && --crash_in_ == 0)
    throw journal_crash{};
}

void memory_journal::recover() {
  crash_in_ = 0;
  rollback();
}

void memory_journal::put(const item_row& row) {
  write(items_, row.what.id, row);
}

void memory_journal::put(const sample_row& row, const trajectory& whole,
                         bool keep_payload) {
  key at{row.item, row.index};
  write(samples_, at, row);
  if (keep_payload)
    write(payloads_, at, whole);
}

void memory_journal::put(const batch_row& row) {
  write(batches_, row.step, row);
}

void memory_journal::put(const stage_row& row) {
  write(stages_, row.index, row);
}

void memory_journal::put(const checkpoint_row& row) {
  write(checkpoints_, row.step, row);
}

void memory_journal::put(const judgement& row, double) {
  key at{row.item, row.index};
  if (!judgements_.contains(at))
    write(judgements_, at, row);
}

void memory_journal::put(const drift_report& row) {
  if (!drifts_.contains(row.step))
    write(drifts_, row.step, row);
}

void memory_journal::put(const step_report& row) {
  write(reports_, row.step, row);
}

void memory_journal::put_epoch(uint64_t epoch, const owner& learner) {
  write(epochs_, epoch, learner);
}

void memory_journal::put_meta(const std::string& name,
                              const std::string& value) {
  write(meta_, name, value);
}

void memory_journal::drop_payloads_of(uint64_t item) {
  auto at = payloads_.lower_bound({item, 0});
  while (at != payloads_.end() && at->first.first == item)
    erase(payloads_, key{(at++)->first});
}

void memory_journal::drop_payloads_through(uint64_t step) {
  for (auto at = payloads_.begin(); at != payloads_.end();) {
    auto& row = items_.at(at->first.first);
    auto here = key{(at++)->first};
    if (row.status == item_status::assigned && row.step <= step)
      erase(payloads_, here);
  }
}

void memory_journal::drop_payloads_of_stage(uint32_t stage) {
  for (auto at = payloads_.begin(); at != payloads_.end();) {
    auto here = key{(at++)->first};
    if (items_.at(here.first).what.stage == stage)
      erase(payloads_, here);
  }
}

result<double> memory_journal::commit() {
  if (!crash_after_commit_)
    count_down();
  if (full) {
    rollback();
    return fail(ec::journal_full, "the journal in memory was told to be full");
  }
  undo_.clear();
  if (crash_after_commit_)
    count_down();
  return commit_s;
}

void memory_journal::rollback() {
  while (!undo_.empty()) {
    undo_.back()();
    undo_.pop_back();
  }
}

result<journal_image> memory_journal::load() {
  journal_image image;
  image.meta = meta_;
  for (auto& [id, row] : items_)
    image.items.push_back(row);
  for (auto& [step, row] : batches_)
    image.batches.push_back(row);
  for (auto& [at, row] : samples_) {
    auto& whole = items_.at(at.first);
    if (whole.status == item_status::open
        || whole.status == item_status::verified
        || whole.status == item_status::collected
        || (whole.status == item_status::assigned
            && !batches_.at(whole.step).committed))
      image.samples.push_back(row);
    if (whole.status == item_status::discarded
        && whole.step == image.batches.size())
      image.discarded.push_back({whole.what.stage, whole.reason, row.kind, 1});
  }
  for (auto& [index, row] : stages_)
    image.stages.push_back(row);
  for (auto& [step, row] : checkpoints_)
    image.checkpoints.push_back(row);
  image.epoch = epochs_.empty() ? 0 : epochs_.rbegin()->first;
  return image;
}

result<trajectory> memory_journal::fetch(uint64_t item, uint32_t index) {
  auto found = payloads_.find({item, index});
  if (found == payloads_.end())
    return fail(ec::not_found,
                fmt::format("no payload of sample ({}, {})", item, index));
  return found->second;
}

result<bool> memory_journal::has_sample(uint64_t item, uint32_t index) {
  return samples_.contains({item, index});
}

result<std::vector<judgement>> memory_journal::judgements(uint64_t step) {
  std::vector<judgement> found;
  for (auto& [at, row] : judgements_)
    if (row.step == step)
      found.push_back(row);
  return found;
}

} // namespace swage
