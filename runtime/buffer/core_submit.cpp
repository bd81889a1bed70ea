#include "runtime/buffer/buffer_core.hpp"
#include "runtime/buffer/repair.hpp"

#include <algorithm>

namespace swage {

namespace {

/// Returns closer than this are the same: no advantage to learn from.
constexpr double no_spread = 1e-9;

uint32_t count_judged(const live_item& one) {
  return static_cast<uint32_t>(
    std::count_if(one.samples.begin(), one.samples.end(),
                  [](auto& x) { return !x.second.dropped; }));
}

bool has_spread(const live_item& one, double least) {
  double low = 0, high = 0;
  bool first = true;
  for (auto& [index, sample] : one.samples) {
    if (sample.dropped)
      continue;
    low = first ? sample.ret : std::min(low, sample.ret);
    high = first ? sample.ret : std::max(high, sample.ret);
    first = false;
  }
  return high - low > std::max(least, no_spread);
}

bool all_failed(const live_item& one) {
  return std::all_of(one.samples.begin(), one.samples.end(), [](auto& x) {
    return x.second.dropped || x.second.failed;
  });
}

} // namespace

submit_status buffer_core::submit(const owner& from, uint64_t lease,
                                  const trajectory& what, double now) {
  if (failing())
    return submit_status::journal_full;
  auto* one = book_.find(what.item);
  if (!one) {
    auto known = journal_->has_sample(what.item, what.index);
    return known && *known ? submit_status::duplicate
                           : submit_status::superseded;
  }
  if (one->samples.contains(what.index))
    return submit_status::duplicate;
  auto* held = leases_.of(what.item);
  if (one->row.status != item_status::open || what.index >= one->row.samples
      || !held || held->id != lease || held->from != from)
    return submit_status::superseded;
  auto& row = plan_[one->row.what.stage];
  auto sample = summarize(what, row.kind, one->row.what.kind);
  if (!fits(*one, *held, sample, what))
    return submit_status::superseded;
  bool invalid = sample.kind == category::task_invalid;
  // Only what may be trained is fetched again.
  bool keep = !sample.dropped && (row.is_rl() || sample.success)
              && row.kind != stage_kind::eval;
  book_.store(*one, std::move(sample), what, keep);
  if (invalid)
    discard(*one, discard_reason::task_invalid);
  else if (one->complete())
    complete(*one);
  advance(now);
  touch(now);
  return submit_status::accepted;
}

/// Whether the versions are those that the lease asked for: neither older, nor
/// from a run that this journal does not know, nor too old to be trained.
bool buffer_core::fits(const live_item& one, const lease& held,
                       const sample_row& row, const trajectory& what) const {
  if (held.rule == weights_rule::none)
    return true;
  for (auto& turn : what.turns)
    for (auto& run : turn.versions) {
      if (run.version > book_.last_batch() || run.version < held.version)
        return false;
      if (held.rule == weights_rule::exactly && run.version != held.version)
        return false;
    }
  return !plan_[one.row.what.stage].is_rl() || row.dropped
         || book_.last_batch() - row.oldest <= how_.buffer.max_staleness;
}

void buffer_core::discard(live_item& one, discard_reason why) {
  leases_.end(one.row.what.id);
  book_.close(one, item_status::discarded, why);
}

void buffer_core::complete(live_item& one) {
  auto& row = plan_[one.row.what.stage];
  if (row.is_rl())
    return complete_group(one);
  if (count_judged(one) == 0)
    return discard(one, discard_reason::infra);
  bool any = std::any_of(one.samples.begin(), one.samples.end(),
                         [](auto& x) { return x.second.success; });
  if (row.terminal == item_status::collected && !any)
    return discard(one, discard_reason::failed);
  leases_.end(one.row.what.id);
  book_.close(one, row.terminal, discard_reason::none);
}

void buffer_core::complete_group(live_item& one) {
  auto judged = count_judged(one);
  if (judged >= std::min(how_.buffer.min_group, one.row.samples)
      && all_failed(one))
    add_repair(one);
  // One alone has nothing to be compared with.
  if (judged < std::min(2u, one.row.samples))
    return discard(one, discard_reason::infra);
  if (how_.buffer.dynamic_sampling && !has_spread(one, how_.buffer.min_spread))
    return discard(one, discard_reason::no_spread);
  leases_.end(one.row.what.id);
  one.row.status = item_status::verified;
  book_.save(one);
}

void buffer_core::add_repair(const live_item& failed) {
  auto& knobs = how_.buffer;
  if (failed.row.what.depth >= knobs.retry_depth || knobs.retry_capacity == 0
      || knobs.retry_probability <= 0 || retry_steps() < knobs.retry_from_step)
    return;
  book_.add(make_repair(failed.row, furthest(failed.samples)));
  std::vector<uint64_t> queue;
  for (auto& [id, one] : book_.live())
    if (one.row.status == item_status::queued)
      queue.push_back(id);
  if (queue.size() > knobs.retry_capacity)
    discard(*book_.find(queue.front()), discard_reason::evicted);
}

} // namespace swage
