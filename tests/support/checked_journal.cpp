#include "tests/support/checked_journal.hpp"

#include "runtime/buffer/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

namespace {

bool may_follow(item_status before, item_status after) {
  using enum item_status;
  switch (before) {
  case queued:
    return after == open || after == discarded || after == queued;
  case open:
    return after != queued && after != assigned;
  case verified:
    return after == assigned || after == discarded || after == verified;
  case assigned:
    return after == assigned || after == discarded;
  default:
    return false;
  }
}

} // namespace

checked_journal::checked_journal(config how, refuse broken)
  : how_(std::move(how)), refuse_(std::move(broken)) {
  if (auto plan = make_plan(how_))
    plan_ = std::move(*plan);
}

void checked_journal::open(std::shared_ptr<journal> where) {
  inner_ = std::move(where);
  staged_.clear();
  die_ = nullptr;
  auto image = inner_->load();
  require(image.has_value(), "the journal cannot be read");
  if (!image)
    return;
  require(image->items.size() == items_.size(), "an item was lost");
  for (auto& row : image->items) {
    auto found = items_.find(row.what.id);
    require(found != items_.end() && found->second.status == row.status
              && found->second.step == row.step,
            fmt::format("item {} is not what was committed", row.what.id));
  }
  require(image->batches.size() == batches_.size(), "a batch was lost");
  for (auto& row : image->batches) {
    auto found = batches_.find(row.step);
    require(found != batches_.end() && found->second.hash == row.hash
              && found->second.committed == row.committed,
            fmt::format("batch {} is not what was committed", row.step));
  }
}

void checked_journal::die_in_commit(bool after, std::function<void()> die) {
  die_after_ = after;
  die_ = std::move(die);
}

int32_t checked_journal::mark_of(const key& at) const {
  auto found = marks_.find(at);
  return found == marks_.end() ? 0 : found->second;
}

uint64_t checked_journal::last_committed() const {
  uint64_t last = 0;
  for (auto& [step, row] : batches_)
    last = row.committed ? step : last;
  return last;
}

uint64_t checked_journal::hash_at(uint64_t step) const {
  auto found = batches_.find(step);
  return found == batches_.end() ? chain_start : found->second.hash;
}

void checked_journal::put(const item_row& row) {
  staged_.push_back([this, row] { apply(row); });
  inner_->put(row);
}

void checked_journal::put(const sample_row& row, const trajectory& whole,
                          bool keep_payload) {
  auto& tokens = whole.turns.front().response;
  const auto mark = tokens.empty() ? 0 : tokens.front();
  staged_.push_back([this, row, mark] { apply(row, mark); });
  inner_->put(row, whole, keep_payload);
}

void checked_journal::put(const batch_row& row) {
  staged_.push_back([this, row] { apply(row); });
  inner_->put(row);
}

void checked_journal::put(const stage_row& row) {
  staged_.push_back([this, row] {
    require(row.index == 0 || stages_.contains(row.index - 1),
            "a stage was left out");
    stages_[row.index] = row;
  });
  inner_->put(row);
}

void checked_journal::put(const checkpoint_row& row) {
  staged_.push_back([this, row] {
    require(row.hash == hash_at(row.step), "a checkpoint of another chain");
    checkpoints_[row.step] = row;
  });
  inner_->put(row);
}

void checked_journal::put(const judgement& row, double wall_s) {
  staged_.push_back([this, row] { apply(row); });
  inner_->put(row, wall_s);
}

result<double> checked_journal::commit() {
  if (die_ && !die_after_) {
    rollback();
    std::exchange(die_, nullptr)();
    return fail(ec::io, "the process dies before its transaction is durable");
  }
  auto done = inner_->commit();
  if (done) {
    for (auto& one : staged_)
      one();
    check_bounds();
  }
  staged_.clear();
  if (die_)
    std::exchange(die_, nullptr)();
  return done;
}

void checked_journal::rollback() {
  staged_.clear();
  inner_->rollback();
}

void checked_journal::apply(const item_row& row) {
  const auto id = row.what.id;
  require((row.status == item_status::discarded)
            == (row.reason != discard_reason::none),
          fmt::format("item {}: discarded and only discarded items have a "
                      "reason",
                      id));
  require(row.what.attempts <= how_.buffer.max_attempts,
          fmt::format("item {} was granted too often", id));
  auto found = items_.find(id);
  if (found == items_.end())
    require(row.status == item_status::open
              || row.status == item_status::queued,
            fmt::format("item {} begins as {}", id, to_string(row.status)));
  else
    require(may_follow(found->second.status, row.status),
            fmt::format("item {} goes from {} to {}", id,
                        to_string(found->second.status),
                        to_string(row.status)));
  if (row.status == item_status::assigned) {
    auto [known, first] = batch_of_.try_emplace(id, row.step);
    require(known->second == row.step,
            fmt::format("item {} is in batches {} and {}", id, known->second,
                        row.step));
  }
  items_[id] = row;
}

void checked_journal::apply(const sample_row& row, int32_t mark) {
  const key at{row.item, row.index};
  require(!samples_.contains(at),
          fmt::format("sample ({}, {}) is stored twice", row.item, row.index));
  auto found = items_.find(row.item);
  require(found != items_.end() && found->second.status == item_status::open,
          fmt::format("sample ({}, {}) of an item that is not open", row.item,
                      row.index));
  samples_.emplace(at, row);
  marks_.emplace(at, mark);
}

void checked_journal::apply(const batch_row& row) {
  auto found = batches_.find(row.step);
  if (found == batches_.end())
    return check_new(row);
  auto& before = found->second;
  require(!before.voided || row.voided, "a void batch came back");
  require(!before.committed || row.committed, "a commit was taken back");
  require(!row.committed || row.step == 1
            || batches_.at(row.step - 1).committed,
          "commits are in order");
  const auto hash = row.voided
                      ? chain_void(hash_at(row.step - 1), row.step)
                      : chain_next(hash_at(row.step - 1), row.step,
                                   before.members);
  require(row.hash == hash, fmt::format("the hash of batch {}", row.step));
  auto members = std::move(before.members);
  before = row;
  before.members = std::move(members);
}

void checked_journal::check_new(const batch_row& row) {
  require(row.step == batches_.size() + 1, "batches have a gap");
  require(row.step == 1 || batches_.at(row.step - 1).committed,
          "a batch was recorded before the one before was committed");
  require(std::is_sorted(row.members.begin(), row.members.end(), comes_before),
          "members are sorted");
  require(row.hash
            == chain_next(hash_at(row.step - 1), row.step, row.members),
          fmt::format("the hash of batch {}", row.step));
  const auto rl = row.stage < plan_.size() && plan_[row.stage].is_rl();
  for (auto& one : row.members) {
    auto found = samples_.find({one.item, one.index});
    require(found != samples_.end(), "a member without a sample");
    if (found == samples_.end() || !rl)
      continue;
    auto& item = items_.at(one.item);
    require(item.status == item_status::assigned && item.step == row.step,
            fmt::format("item {} is in batch {}, but is {} in {}", one.item,
                        row.step, to_string(item.status), item.step));
    require(row.step - 1 - found->second.oldest <= how_.buffer.max_staleness,
            fmt::format("sample ({}, {}) of version {} is in batch {}",
                        one.item, one.index, found->second.oldest, row.step));
  }
  batches_.emplace(row.step, row);
}

void checked_journal::apply(const judgement& row) {
  auto [known, first] = judgements_.try_emplace({row.item, row.index}, row);
  if (!first)
    return;
  auto& sample = samples_.at({row.item, row.index});
  require(row.staleness == row.step - 1 - sample.oldest,
          fmt::format("sample ({}, {}) of version {} is judged in batch {} at "
                      "staleness {}",
                      row.item, row.index, sample.oldest, row.step,
                      row.staleness));
}

void checked_journal::check_bounds() {
  uint64_t outstanding = 0;
  for (auto& [id, row] : items_) {
    const auto waits = row.status == item_status::open
                       || row.status == item_status::verified
                       || (row.status == item_status::assigned
                           && !batches_.at(row.step).committed);
    outstanding += in_rl(row) && waits ? 1 : 0;
  }
  require(outstanding <= (uint64_t{how_.buffer.max_staleness} + 1)
                           * how_.buffer.groups_per_batch,
          fmt::format("{} RL items are outstanding", outstanding));
}

bool checked_journal::in_rl(const item_row& row) const {
  return row.what.stage < plan_.size() && plan_[row.what.stage].is_rl();
}

void checked_journal::require(bool holds, const std::string& what) const {
  if (!holds)
    refuse_(what);
}

} // namespace swage::test
