#include "runtime/buffer/buffer_core.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

result<trajectory> buffer_core::fetch(uint64_t item, uint32_t index) const {
  return journal_->fetch(item, index);
}

result<void> buffer_core::judged(uint64_t epoch,
                                 const std::vector<judgement>& all,
                                 const drift_report& drift, double wall_s) {
  if (auto ok = fenced(epoch); !ok)
    return ok;
  for (auto& one : all)
    if (!book_.is_member(one.step, one.item, one.index))
      return fail(ec::invalid_argument,
                  fmt::format("sample ({}, {}) is judged in batch {}, which it "
                              "is not a member of",
                              one.item, one.index, one.step));
  if (drift.step == 0 || drift.step > book_.last_batch())
    return fail(ec::invalid_argument,
                fmt::format("drift of batch {}, but the newest is {}",
                            drift.step, book_.last_batch()));
  for (auto& one : all)
    if (!book_.batch_at(one.step).voided)
      journal_->put(one, wall_s);
  journal_->put(drift);
  return {};
}

result<void> buffer_core::commit(uint64_t epoch, const step_report& report,
                                 double now) {
  if (auto ok = fenced(epoch); !ok)
    return ok;
  if (report.step <= book_.last_committed())
    return {};
  if (report.step != book_.last_committed() + 1
      || report.step > book_.last_batch())
    return fail(ec::invalid_argument,
                fmt::format("commit of batch {}; committed are {}, recorded {}",
                            report.step, book_.last_committed(),
                            book_.last_batch()));
  book_.commit(report.step, report);
  advance(now);
  touch(now);
  return {};
}

result<void> buffer_core::checkpointed(uint64_t epoch, uint64_t step,
                                       uint64_t hash) {
  if (auto ok = fenced(epoch); !ok)
    return ok;
  if (step > book_.last_committed())
    return fail(ec::invalid_argument,
                fmt::format("checkpoint of step {}; the newest committed is {}",
                            step, book_.last_committed()));
  if (hash != book_.hash_at(step))
    return fail(ec::corrupt,
                fmt::format("the checkpoint of step {} has chain hash {:016x}, "
                            "the journal {:016x}: it is of another run",
                            step, hash, book_.hash_at(step)));
  book_.save(checkpoint_row{step, hash});
  drop_covered_payloads();
  return {};
}

/// A redo begins at the oldest kept checkpoint at the earliest.
void buffer_core::drop_covered_payloads() {
  auto& kept = book_.checkpoints();
  if (kept.size() < how_.run.keep_last || how_.run.keep_last == 0)
    return;
  auto covered = kept[kept.size() - how_.run.keep_last].step;
  journal_->drop_payloads_through(covered);
  // Examples go with the last batch of the last stage that trains on them.
  std::map<uint32_t, uint32_t> last_use;
  for (uint32_t i = 0; i < plan_.size(); ++i)
    for (auto from : plan_[i].from)
      last_use[from] = i;
  for (auto [from, user] : last_use) {
    if (user >= book_.stages().size() || !book_.stages()[user].over)
      continue;
    bool all = std::all_of(
      book_.batches().begin(), book_.batches().end(),
      [&](auto& row) { return row.stage != user || row.step <= covered; });
    if (all)
      journal_->drop_payloads_of_stage(from);
  }
}

} // namespace swage
