#include "runtime/buffer/buffer_core.hpp"

#include <algorithm>

namespace swage {

uint32_t buffer_core::stage_index() const {
  auto& rows = book_.stages();
  if (rows.empty())
    return 0;
  return rows.back().index + (rows.back().over ? 1 : 0);
}

const stage_plan* buffer_core::stage() const {
  auto index = stage_index();
  return index < plan_.size() ? &plan_[index] : nullptr;
}

bool buffer_core::over() const {
  return stage_index() >= plan_.size();
}

std::span<const task> buffer_core::tasks_of(const stage_plan& row) const {
  switch (row.source) {
  case item_source::held_out:
    return tasks_.held_out;
  case item_source::validation:
    return tasks_.validation;
  default:
    break;
  }
  std::span<const task> all = tasks_.train;
  return row.limit > 0 && row.limit < all.size() ? all.first(row.limit) : all;
}

uint64_t buffer_core::stage_batches(uint32_t index) const {
  auto& rows = book_.stages();
  if (index < rows.size() && rows[index].cut)
    return book_.tally(index).batches;
  return plan_[index].batches;
}

bool buffer_core::stage_done() const {
  auto index = stage_index();
  auto& row = plan_[index];
  auto& tally = book_.tally(index);
  if (row.trains())
    return tally.batches >= stage_batches(index)
           && tally.committed == tally.batches;
  if (tally.drawn < tasks_of(row).size())
    return false;
  return std::none_of(book_.live().begin(), book_.live().end(), [](auto& one) {
    return one.second.row.status == item_status::open;
  });
}

std::optional<uint64_t> buffer_core::exact_version() const {
  auto* row = stage();
  if (!row || row->rule != weights_rule::exactly || book_.stages().empty())
    return std::nullopt;
  return book_.stages().back().version;
}

void buffer_core::begin_stage(uint32_t index, double now) {
  stage_row row;
  row.index = index;
  row.name = plan_[index].name;
  row.version = book_.last_committed();
  book_.save(row);
  rebuild_sources();
  stage_began_ = now;
  done_at_begin_ = 0;
  touch(now);
}

void buffer_core::advance(double now) {
  while (!over()) {
    auto index = stage_index();
    if (index >= book_.stages().size())
      begin_stage(index, now);
    if (!stage_done())
      return;
    // Nobody will train what the stage leaves; its grants are cancelled.
    std::vector<uint64_t> left;
    for (auto& [id, one] : book_.live())
      if (one.row.status != item_status::assigned)
        left.push_back(id);
    for (auto id : left)
      discard(*book_.find(id), discard_reason::stage_over);
    auto row = book_.stages()[index];
    row.over = true;
    book_.save(row);
    touch(now);
  }
}

void buffer_core::drain(const std::string& reason) {
  draining_ = true;
  if (!reason.empty() && !failing())
    book_.set_meta("ended", reason);
  ++revision_;
}

void buffer_core::end_stage(double now) {
  auto* row = stage();
  if (failing() || !row || !row->is_rl())
    return;
  auto mark = book_.stages().back();
  mark.cut = true;
  book_.save(mark);
  advance(now);
}

} // namespace swage
