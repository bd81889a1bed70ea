#include "runtime/buffer/buffer_core.hpp"

#include "runtime/buffer/seeded.hpp"

#include <algorithm>

namespace swage {

namespace {

constexpr uint64_t repair_stream = 201, timed_stream = 202;

} // namespace

sync_reply buffer_core::sync(const sync_request& ask, double now) {
  sync_reply reply;
  reply.newest = book_.last_committed();
  reply.draining = draining_ || over();
  auto& newest = incarnations_[ask.from.node];
  if (ask.from.incarnation < newest) {
    // A process that was replaced: nothing of it counts any more.
    reply.cancelled = ask.held;
    reply.draining = true;
    return reply;
  }
  newest = ask.from.incarnation;
  // A process that restarted has forgotten what the one before it held.
  if (ask.from.incarnation > 0)
    leases_.release_node(ask.from.node, ask.from.incarnation - 1);
  leases_.release_others(ask.from, ask.held);
  for (auto id : ask.held)
    if (!leases_.renew(id, ask.from, now + how_.buffer.lease_ttl_s))
      reply.cancelled.push_back(id);
  if (reply.draining || !writable())
    return reply;
  auto want = static_cast<int64_t>(ask.want);
  while (want > 0) {
    auto id = pick(now);
    if (!id)
      break;
    reply.grants.push_back(make_grant(*book_.find(*id), ask.from, now));
    want -= static_cast<int64_t>(reply.grants.back().missing.size());
  }
  ++revision_;
  return reply;
}

bool buffer_core::is_grantable(const live_item& one) const {
  return one.row.status == item_status::open
         && !leases_.is_active(one.row.what.id);
}

bool buffer_core::could_grant() const {
  if (draining_ || over() || !writable())
    return false;
  return may_draw()
         || std::any_of(book_.live().begin(), book_.live().end(),
                        [this](auto& one) { return is_grantable(one.second); });
}

std::optional<uint64_t> buffer_core::pick(double now) {
  std::vector<uint64_t> free;
  for (auto& [id, one] : book_.live())
    if (is_grantable(one))
      free.push_back(id);
  for (auto id : free) {
    auto& one = *book_.find(id);
    if (one.row.what.attempts < how_.buffer.max_attempts)
      return id;
    give_up(one);
  }
  if (!free.empty())
    advance(now);
  return over() ? std::nullopt : draw();
}

void buffer_core::give_up(live_item& one) {
  bool some = std::any_of(one.samples.begin(), one.samples.end(),
                          [](auto& x) { return !x.second.dropped; });
  // What was judged of an evaluation counts, and so does what was collected.
  if (some && !in_rl(one))
    complete(one);
  else
    discard(one, discard_reason::attempts);
}

bool buffer_core::may_draw() const {
  auto* row = stage();
  if (!row || row->admission == admission_rule::batches)
    return false;
  auto index = stage_index();
  if (row->admission == admission_rule::concurrency) {
    auto open = std::count_if(
      book_.live().begin(), book_.live().end(),
      [](auto& one) { return one.second.row.status == item_status::open; });
    return book_.tally(index).drawn < tasks_of(*row).size()
           && static_cast<uint64_t>(open) < how_.buffer.eval_concurrency;
  }
  if (book_.tally(index).batches >= stage_batches(index))
    return false;
  if (book_.barren(index).samples >= how_.buffer.max_rollouts_per_batch)
    return false;
  auto used = outstanding();
  // The bytes never block a first batch: it could not be made otherwise.
  if (buffered_bytes() >= how_.buffer.max_buffered_bytes
      && used >= how_.buffer.groups_per_batch)
    return false;
  return used < outstanding_bound();
}

std::optional<uint64_t> buffer_core::draw() {
  if (!may_draw())
    return std::nullopt;
  auto index = stage_index();
  auto& row = plan_[index];
  if (row.is_rl()) {
    auto* repair = oldest_repair();
    // A function of what is stored, so that a restart draws the same.
    if (repair
        && uniform(mix({how_.run.seed, repair_stream, book_.next_id(),
                        repair->row.what.id}))
             < how_.buffer.retry_probability) {
      repair->row.status = item_status::open;
      repair->row.what.stage = index;
      book_.save(*repair);
      return repair->row.what.id;
    }
  }
  auto position = book_.tally(index).drawn;
  auto tasks = tasks_of(row);
  auto at = row.source == item_source::training_drawn ? drawn_->at(position)
                                                      : position;
  item_row next;
  next.what.stage = index;
  next.what.kind = row.items;
  next.what.task_id = tasks[at].id;
  next.level = tasks[at].level;
  next.samples = row.samples;
  return book_.add(next).row.what.id;
}

live_item* buffer_core::oldest_repair() {
  if (retry_steps() < how_.buffer.retry_from_step)
    return nullptr;
  for (auto& [id, one] : book_.live())
    if (one.row.status == item_status::queued)
      return book_.find(id);
  return nullptr;
}

uint64_t buffer_core::retry_steps() const {
  return book_.tally(stage_index()).batches;
}

/// Whether the verifier times what is correct. What is only to be imitated need
/// not be fast; of training, whole groups are timed, since speed is compared
/// within a group; evaluations are timed always.
bool buffer_core::is_timed(const live_item& one, const stage_plan& row) const {
  if (row.rule == weights_rule::none)
    return false;
  return !row.is_rl()
         || uniform(mix({how_.run.seed, timed_stream, one.row.what.id}))
              < how_.reward.timed_share;
}

grant buffer_core::make_grant(live_item& one, const owner& to, double now) {
  ++one.row.what.attempts;
  book_.save(one);
  auto index = stage_index();
  auto& row = plan_[index];
  grant out;
  out.work = one.row.what;
  out.what = *by_id_.at(one.row.what.task_id);
  out.stage = row.kind;
  out.how = row.how;
  out.rule = row.rule;
  if (!is_timed(one, row))
    out.what.eval.measure = false;
  if (row.rule == weights_rule::exactly)
    out.version = book_.stages()[index].version;
  else if (row.rule == weights_rule::at_least)
    out.version = book_.last_committed();
  // A repair is one more attempt at one response, all of it trained.
  out.max_turns = one.row.what.kind == item_kind::repair ? 1 : row.max_turns;
  out.ttl_s = how_.buffer.lease_ttl_s;
  for (uint32_t i = 0; i < one.row.samples; ++i)
    if (!one.samples.contains(i))
      out.missing.push_back(i);
  out.lease = leases_
                .give({0, one.row.what.id, to, now + out.ttl_s, out.rule,
                       out.version})
                .id;
  return out;
}

uint64_t buffer_core::outstanding() const {
  return static_cast<uint64_t>(
    std::count_if(book_.live().begin(), book_.live().end(), [this](auto& one) {
      return in_rl(one.second) && one.second.row.status != item_status::queued;
    }));
}

uint64_t buffer_core::outstanding_bound() const {
  return (uint64_t{how_.buffer.max_staleness} + 1)
         * how_.buffer.groups_per_batch;
}

uint64_t buffer_core::buffered_bytes() const {
  uint64_t sum = 0;
  for (auto& [id, one] : book_.live())
    if (in_rl(one))
      for (auto& [index, sample] : one.samples)
        sum += sample.bytes;
  return sum;
}

void buffer_core::owner_down(const std::string& node, uint64_t incarnation) {
  auto& newest = incarnations_[node];
  newest = std::max(newest, incarnation);
  leases_.release_node(node, incarnation);
  ++revision_;
}

} // namespace swage
