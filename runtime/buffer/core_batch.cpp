#include "runtime/buffer/buffer_core.hpp"
#include "runtime/buffer/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

result<void> buffer_core::fenced(uint64_t epoch) const {
  if (failing())
    return fail(ec::journal_full, journal_trouble_);
  if (epoch == book_.epoch())
    return {};
  return fail(ec::fenced,
              fmt::format("epoch {} was replaced by epoch {}; attach again",
                          epoch, book_.epoch()));
}

result<attach_reply> buffer_core::attach(const owner& learner, double now) {
  if (failing())
    return fail(ec::journal_full, journal_trouble_);
  book_.begin_epoch(learner);
  touch(now);
  attach_reply reply;
  reply.epoch = book_.epoch();
  reply.last_batch = book_.last_batch();
  reply.last_committed = book_.last_committed();
  for (auto& row : book_.batches())
    reply.hashes.push_back(row.hash);
  return reply;
}

next_reply buffer_core::next_batch(uint64_t epoch, uint64_t after, double now) {
  next_reply reply;
  if (failing())
    return reply;
  // An asker that is ahead of the journal belongs to another run.
  if (epoch != book_.epoch() || after > book_.last_batch()) {
    reply.status = next_status::fenced;
    return reply;
  }
  if (after == book_.last_batch()) {
    if (after != book_.last_committed())
      return reply;
    if (draining_ || over()) {
      reply.status = next_status::run_over;
      return reply;
    }
    if (!assemble(now)) {
      if (after > 0 && book_.stages()[book_.batch_at(after).stage].over)
        reply.status = next_status::stage_over;
      return reply;
    }
  }
  reply.what = deliver(after + 1, epoch);
  reply.status = next_status::ready;
  return reply;
}

bool buffer_core::could_deliver(uint64_t epoch, uint64_t after) const {
  if (failing())
    return false;
  if (epoch != book_.epoch() || after != book_.last_batch())
    return true;
  if (after != book_.last_committed())
    return false;
  if (draining_ || over())
    return true;
  auto* row = stage();
  if (!row->trains())
    return false;
  if (row->kind == stage_kind::sft)
    return examples_ && examples_->size() > 0;
  auto ready = std::count_if(
    book_.live().begin(), book_.live().end(),
    [](auto& one) { return one.second.row.status == item_status::verified; });
  return static_cast<uint64_t>(ready) >= how_.buffer.groups_per_batch
         && !held_for();
}

batch buffer_core::deliver(uint64_t step, uint64_t epoch) {
  auto row = book_.batch_at(step);
  if (!row.committed && row.epoch != epoch) {
    // An earlier learner had it and is gone: perhaps it died of it.
    row.epoch = epoch;
    ++row.deliveries;
    if (row.deliveries > how_.buffer.max_deliveries && !row.voided)
      void_batch(row);
    else
      book_.save(row);
  }
  auto& now = book_.batch_at(step);
  batch out;
  out.step = step;
  out.stage = now.stage;
  out.kind = plan_[now.stage].kind;
  out.voided = now.voided;
  out.redo = now.committed;
  out.hash = now.hash;
  if (!now.voided)
    out.members = now.members;
  uint64_t position = 0;
  for (uint64_t s = 1; s <= step; ++s)
    position += book_.batch_at(s).stage == now.stage ? 1 : 0;
  out.begins_stage = position == 1;
  auto total = std::max<uint64_t>(stage_batches(now.stage), 1);
  out.progress = std::min(1.0, static_cast<double>(position)
                                 / static_cast<double>(total));
  if (auto judged = journal_->judgements(step);
      judged && !now.voided && judged->size() == out.members.size())
    out.recorded = std::move(*judged);
  return out;
}

void buffer_core::void_batch(batch_row row) {
  row.voided = true;
  row.hash = chain_void(book_.hash_at(row.step - 1), row.step);
  book_.save(row);
  for (auto& member : row.members)
    if (auto* one = book_.find(member.item))
      discard(*one, discard_reason::poison);
  ++revision_;
}

/// The oldest version that a trained token of the item has or may get.
std::optional<uint64_t> buffer_core::oldest_known(const live_item& one) const {
  std::optional<uint64_t> oldest;
  for (auto& [index, sample] : one.samples)
    if (!sample.dropped)
      oldest = std::min(oldest.value_or(sample.oldest), sample.oldest);
  auto* held = leases_.of(one.row.what.id);
  if (one.row.status == item_status::open && held && held->active)
    oldest = std::min(oldest.value_or(held->version), held->version);
  return oldest;
}

std::vector<live_item*> buffer_core::verified_in_order() {
  std::vector<live_item*> ready;
  for (auto& [id, one] : book_.live())
    if (one.row.status == item_status::verified)
      ready.push_back(book_.find(id));
  std::stable_sort(ready.begin(), ready.end(), [this](auto* a, auto* b) {
    return oldest_known(*a) < oldest_known(*b);
  });
  return ready;
}

/// Under `wait`: the open item that the next batch would leave untrainable.
const live_item* buffer_core::held_for() const {
  if (how_.buffer.staleness_policy != "wait")
    return nullptr;
  // Left out of batch s it trains in s + 1 at the earliest, at staleness
  // s - oldest.
  auto next = book_.last_batch() + 1;
  for (auto& [id, one] : book_.live()) {
    if (one.row.status != item_status::open)
      continue;
    auto oldest = oldest_known(one);
    if (oldest && next - *oldest > how_.buffer.max_staleness
        && next - 1 - *oldest <= how_.buffer.max_staleness)
      return &one;
  }
  return nullptr;
}

/// Discards what batch `next` could not train within the bound.
void buffer_core::discard_stale(uint64_t next) {
  std::vector<uint64_t> stale;
  for (auto& [id, one] : book_.live()) {
    if (one.row.status != item_status::open
        && one.row.status != item_status::verified)
      continue;
    auto oldest = oldest_known(one);
    if (oldest && next - 1 - *oldest > how_.buffer.max_staleness)
      stale.push_back(id);
  }
  for (auto id : stale)
    discard(*book_.find(id), discard_reason::stale);
}

std::optional<uint64_t> buffer_core::assemble(double now) {
  auto* row = stage();
  if (!row || !row->trains()
      || book_.tally(stage_index()).batches >= stage_batches(stage_index()))
    return std::nullopt;
  auto step = row->is_rl() ? assemble_groups() : assemble_examples();
  if (step)
    touch(now);
  return step;
}

std::optional<uint64_t> buffer_core::assemble_groups() {
  auto next = book_.last_batch() + 1;
  discard_stale(next);
  auto ready = verified_in_order();
  if (ready.size() < how_.buffer.groups_per_batch || held_for())
    return std::nullopt;
  ready.resize(how_.buffer.groups_per_batch);
  batch_row row;
  row.step = next;
  row.stage = stage_index();
  row.epoch = book_.epoch();
  for (auto* one : ready)
    for (auto& [index, sample] : one->samples)
      if (!sample.dropped)
        row.members.push_back({sample.item, index, one->row.what.kind});
  std::sort(row.members.begin(), row.members.end(), comes_before);
  row.hash = chain_next(book_.hash_at(next - 1), next, row.members);
  book_.record(std::move(row));
  // Under `drop` this batch did not wait for whom the next one cannot take.
  discard_stale(next + 1);
  return next;
}

std::optional<uint64_t> buffer_core::assemble_examples() {
  auto index = stage_index();
  batch_row row;
  row.step = book_.last_batch() + 1;
  row.stage = index;
  row.epoch = book_.epoch();
  row.members = examples_->batch(book_.tally(index).batches,
                                 plan_[index].samples);
  if (row.members.empty())
    return std::nullopt;
  row.hash = chain_next(book_.hash_at(row.step - 1), row.step, row.members);
  auto step = row.step;
  book_.record(std::move(row));
  return step;
}

} // namespace swage
