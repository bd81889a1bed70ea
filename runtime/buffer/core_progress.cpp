#include "runtime/buffer/buffer_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace swage {

namespace {

void count(buffer_progress& out, const live_item& one, bool leased) {
  switch (one.row.status) {
  case item_status::queued:
    ++out.queued;
    break;
  case item_status::open:
    ++out.open;
    out.leased += leased ? 1 : 0;
    break;
  case item_status::verified:
    ++out.verified;
    break;
  default:
    ++out.assigned;
  }
}

/// Shares of the categories, the largest first; the smallest are left out.
std::string shares_of(const std::map<category, uint64_t>& outcomes) {
  constexpr size_t most = 3;
  uint64_t all = 0;
  std::vector<std::pair<uint64_t, category>> order;
  for (auto& [kind, n] : outcomes) {
    all += n;
    order.emplace_back(n, kind);
  }
  if (all == 0)
    return "nothing was judged";
  std::ranges::stable_sort(order, std::greater{},
                           &std::pair<uint64_t, category>::first);
  order.resize(std::min(order.size(), most));
  std::string text;
  for (auto& [n, kind] : order)
    text += fmt::format("{}{:.0f} % {}", text.empty() ? "" : ", ",
                        100 * static_cast<double>(n) / static_cast<double>(all),
                        to_string(kind));
  return text;
}

} // namespace

void buffer_core::touch(double now) {
  since_ = now;
  ++revision_;
}

buffer_progress buffer_core::progress(double now) const {
  buffer_progress out;
  out.stages = static_cast<uint32_t>(plan_.size());
  out.stage = stage_index();
  out.epoch = book_.epoch();
  out.last_batch = book_.last_batch();
  out.last_committed = book_.last_committed();
  for (auto& [id, one] : book_.live())
    count(out, one, leases_.is_active(id));
  out.journal_ok = writable();
  out.waiting_for = waiting_for();
  out.waiting_s = out.waiting_for.empty() ? 0 : now - since_;
  out.stuck = lacks_examples() || lacks_spread();
  out.over = over();
  auto& checkpoints = book_.checkpoints();
  out.saved = (checkpoints.empty() ? 0 : checkpoints.back().step)
              == book_.last_committed();
  if (out.over) {
    out.name = "over";
    return out;
  }
  auto& row = plan_[out.stage];
  auto& tally = book_.tally(out.stage);
  out.name = row.name;
  out.kind = row.kind;
  out.done = row.trains() ? tally.committed : tally.closed;
  out.total = row.trains() ? stage_batches(out.stage) : tasks_of(row).size();
  auto did = static_cast<double>(out.done - std::min(out.done, done_at_begin_));
  if (did > 0 && now > stage_began_) {
    out.rate = did / (now - stage_began_);
    out.left_s = static_cast<double>(out.total - std::min(out.done, out.total))
                 / out.rate;
  }
  if (row.is_rl()) {
    out.outstanding = outstanding();
    out.bound = outstanding_bound();
    auto& lost = book_.barren(out.stage);
    out.barren = lost.samples;
    out.barren_bound = how_.buffer.max_rollouts_per_batch;
    out.barren_outcomes = shares_of(lost.outcomes);
  }
  out.bytes = buffered_bytes();
  for (auto& [why, n] : tally.discarded)
    out.discarded[to_string(why)] = n;
  return out;
}

std::string buffer_core::waiting_for() const {
  if (over())
    return "";
  if (!writable())
    return "the journal: " + journal_trouble_;
  if (book_.last_batch() > book_.last_committed())
    return fmt::format("the learner to commit batch {}", book_.last_batch());
  if (draining_)
    return "the end: the run is draining";
  auto* row = stage();
  if (row->kind == stage_kind::sft)
    return lacks_examples()
             ? "an example to train: the stages before collected none"
             : "the mirror to ask for a batch";
  if (row->is_rl())
    return waiting_in_rl();
  uint64_t open = 0, leased = 0;
  for (auto& [id, one] : book_.live()) {
    ++open;
    leased += leases_.is_active(id) ? 1 : 0;
  }
  return leased > 0
           ? fmt::format("rollouts to finish {} items", leased)
           : fmt::format("a rollout to ask for work ({} items are open)", open);
}

/// Fine-tuning has nothing to train, and nothing will come.
bool buffer_core::lacks_examples() const {
  return !over() && stage()->kind == stage_kind::sft
         && (!examples_ || examples_->size() == 0);
}

/// Groups without spread have used up what a batch may cost, and the groups
/// that there are do not make one.
bool buffer_core::lacks_spread() const {
  auto* row = stage();
  if (!row || !row->is_rl() || draining_ || !writable()
      || book_.last_batch() > book_.last_committed()
      || book_.barren(stage_index()).samples
           < how_.buffer.max_rollouts_per_batch)
    return false;
  uint64_t verified = 0;
  for (auto& [id, one] : book_.live()) {
    if (one.row.status == item_status::open)
      return false;
    verified += one.row.status == item_status::verified ? 1 : 0;
  }
  return verified < how_.buffer.groups_per_batch;
}

std::string buffer_core::waiting_in_rl() const {
  if (lacks_spread()) {
    auto& lost = book_.barren(stage_index());
    return fmt::format("a group with spread: {} samples since batch {} gave "
                       "none ({}); it can be resumed with a larger "
                       "buffer.max_rollouts_per_batch",
                       lost.samples, book_.last_batch(),
                       shares_of(lost.outcomes));
  }
  auto state = [this] {
    uint64_t verified = 0, leased = 0, open = 0;
    for (auto& [id, one] : book_.live()) {
      verified += one.row.status == item_status::verified ? 1 : 0;
      open += one.row.status == item_status::open ? 1 : 0;
      leased += leases_.is_active(id) ? 1 : 0;
    }
    return std::array{verified, open, leased};
  }();
  auto [verified, open, leased] = state;
  auto wanted = how_.buffer.groups_per_batch;
  if (auto* late = held_for(); late && verified >= wanted)
    return fmt::format("item {}, which would become untrainable "
                       "(staleness_policy = wait)",
                       late->row.what.id);
  if (verified >= wanted)
    return "the mirror to ask for a batch";
  if (leased > 0)
    return fmt::format("rollouts to finish {} items ({} of {} groups verified)",
                       leased, verified, wanted);
  return fmt::format("a rollout to ask for work ({} items are open, {} of {} "
                     "groups verified)",
                     open, verified, wanted);
}

} // namespace swage
