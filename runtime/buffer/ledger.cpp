#include "runtime/buffer/ledger.hpp"

#include "runtime/buffer/hash_chain.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace swage {

namespace {

bool is_end(item_status value) {
  return value == item_status::discarded || value == item_status::collected
         || value == item_status::scored;
}

/// Whether samples were spent on it and no batch can come of them. A repair
/// that was pushed out was never sampled; a poisoned batch was one.
bool is_barren(discard_reason value) {
  return value != discard_reason::none && value != discard_reason::evicted
         && value != discard_reason::poison
         && value != discard_reason::stage_over;
}

} // namespace

result<void> ledger::load() {
  auto loaded = journal_->load();
  if (!loaded)
    return tl::unexpected(loaded.error());
  auto& image = *loaded;
  *this = ledger(*journal_);
  meta_ = std::move(image.meta);
  batches_ = std::move(image.batches);
  stages_ = std::move(image.stages);
  checkpoints_ = std::move(image.checkpoints);
  epoch_ = image.epoch;
  for (auto& one : batches_) {
    auto& tally = tallies_[one.stage];
    ++tally.batches;
    tally.committed += one.committed ? 1 : 0;
    if (one.committed)
      last_committed_ = one.step;
  }
  std::map<uint64_t, live_item> rows;
  for (auto& row : image.items) {
    next_id_ = std::max(next_id_, row.what.id + 1);
    rows[row.what.id].row = std::move(row);
  }
  for (auto& row : image.samples)
    if (auto found = rows.find(row.item); found != rows.end())
      found->second.samples.emplace(row.index, std::move(row));
  for (auto& [id, one] : rows) {
    count(one.row);
    if (one.row.status == item_status::collected)
      collect(one);
    bool committed = one.row.status == item_status::assigned
                     && one.row.step <= last_committed_;
    if (!committed && !is_end(one.row.status))
      live_.emplace(id, std::move(one));
  }
  for (auto& one : image.discarded)
    if (is_barren(one.reason))
      barren_[{one.stage, last_batch()}].outcomes[one.kind] += one.count;
  return {};
}

void ledger::count(const item_row& row) {
  auto& tally = tallies_[row.what.stage];
  if (row.what.kind != item_kind::repair)
    ++tally.drawn;
  if (is_end(row.status)
      || (row.status == item_status::assigned && row.step <= last_committed_))
    ++tally.closed;
  if (row.status == item_status::discarded) {
    ++tally.discarded[row.reason];
    if (is_barren(row.reason))
      barren_[{row.what.stage, row.step}].samples += row.samples;
  }
}

void ledger::collect(const live_item& what) {
  auto& id = what.row.what.task_id;
  for (auto& [index, one] : what.samples)
    if (one.success && !one.dropped)
      collected_[what.row.what.stage].push_back(
        {one.item, index, XXH3_64bits(id.data(), id.size()), one.text_hash,
         what.row.what.kind != item_kind::example});
}

live_item* ledger::find(uint64_t id) {
  auto found = live_.find(id);
  return found == live_.end() ? nullptr : &found->second;
}

uint64_t ledger::hash_at(uint64_t step) const {
  return step == 0 ? chain_start : batches_[step - 1].hash;
}

const stage_tally& ledger::tally(uint32_t stage) const {
  static const stage_tally none;
  auto found = tallies_.find(stage);
  return found == tallies_.end() ? none : found->second;
}

std::vector<example>
ledger::examples(const std::vector<uint32_t>& stages) const {
  std::vector<example> all;
  for (auto stage : stages)
    if (auto found = collected_.find(stage); found != collected_.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
  return all;
}

const barren_tally& ledger::barren(uint32_t stage) const {
  static const barren_tally none;
  auto found = barren_.find({stage, last_batch()});
  return found == barren_.end() ? none : found->second;
}

bool ledger::is_member(uint64_t step, uint64_t item, uint32_t index) const {
  if (step == 0 || step > last_batch())
    return false;
  auto& members = batch_at(step).members;
  return std::binary_search(members.begin(), members.end(),
                            batch_member{item, index}, comes_before);
}

live_item& ledger::add(item_row row) {
  row.what.id = next_id_++;
  auto& added = live_[row.what.id];
  added.row = std::move(row);
  count(added.row);
  journal_->put(added.row);
  return added;
}

void ledger::save(const live_item& what) {
  journal_->put(what.row);
}

void ledger::store(live_item& what, sample_row row, const trajectory& whole,
                   bool keep_payload) {
  journal_->put(row, whole, keep_payload);
  auto index = row.index;
  what.samples.emplace(index, std::move(row));
}

void ledger::close(live_item& what, item_status end, discard_reason reason) {
  what.row.status = end;
  what.row.reason = reason;
  what.row.step = last_batch();
  auto& tally = tallies_[what.row.what.stage];
  ++tally.closed;
  if (end == item_status::discarded) {
    ++tally.discarded[reason];
    if (is_barren(reason)) {
      auto& lost = barren_[{what.row.what.stage, what.row.step}];
      lost.samples += what.row.samples;
      for (auto& [index, one] : what.samples)
        ++lost.outcomes[one.kind];
    }
  }
  if (end == item_status::collected)
    collect(what);
  else if (!what.samples.empty())
    journal_->drop_payloads_of(what.row.what.id);
  journal_->put(what.row);
  live_.erase(what.row.what.id);
}

void ledger::record(batch_row row) {
  ++tallies_[row.stage].batches;
  uint64_t before = 0;
  for (auto& member : row.members)
    if (member.item != before) {
      before = member.item;
      auto* item = find(member.item);
      if (!item)
        continue;
      item->row.status = item_status::assigned;
      item->row.step = row.step;
      journal_->put(item->row);
    }
  journal_->put(row);
  batches_.push_back(std::move(row));
}

void ledger::save(const batch_row& row) {
  journal_->put(row);
  batches_[row.step - 1] = row;
}

void ledger::commit(uint64_t step, const step_report& report) {
  auto& row = batches_[step - 1];
  row.committed = true;
  last_committed_ = step;
  auto& tally = tallies_[row.stage];
  ++tally.committed;
  for (auto& member : row.members)
    if (auto found = live_.find(member.item); found != live_.end()) {
      live_.erase(found);
      ++tally.closed;
    }
  journal_->put(row);
  journal_->put(report);
}

void ledger::save(const stage_row& row) {
  if (row.index < stages_.size())
    stages_[row.index] = row;
  else
    stages_.push_back(row);
  journal_->put(row);
}

void ledger::save(const checkpoint_row& row) {
  for (auto& one : checkpoints_)
    if (one.step == row.step)
      return;
  checkpoints_.push_back(row);
  std::sort(checkpoints_.begin(), checkpoints_.end(),
            [](auto& a, auto& b) { return a.step < b.step; });
  journal_->put(row);
}

void ledger::begin_epoch(const owner& learner) {
  journal_->put_epoch(++epoch_, learner);
}

void ledger::set_meta(const std::string& key, const std::string& value) {
  meta_[key] = value;
  journal_->put_meta(key, value);
}

} // namespace swage
