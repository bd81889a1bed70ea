#include "tests/support/topology_walk.hpp"

#include "actors/publisher.hpp"
#include "actors/rollout.hpp"
#include "actors/verifier.hpp"
#include "runtime/buffer/hash_chain.hpp"
#include "runtime/store/checkpoint.hpp"

#include <caf/actor_cast.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

namespace {

constexpr double look_s = 0.5;
/// What is on its way has arrived by then, and forgotten pulls have ended.
constexpr double settle_s = 130;

} // namespace

void topology_walk::look() {
  if (!calm_ && plan_.faults.calm_end && over())
    begin_calm();
  check_leases();
  at(now() + look_s, [this] { look(); });
}

/// A lease whose owner is gone is free as soon as the head can have noticed.
void topology_walk::check_leases() {
  auto* one = head();
  if (!one || one->dying || !one->made.buffer)
    return;
  const auto patience = plan_.settings.faults.detection_s + 3;
  for (auto& [item, lease] : one->made.buffer->leases().by_item()) {
    if (!lease.active)
      continue;
    auto lives = [&](auto& x) {
      return x->who.name == lease.from.node
             && x->who.incarnation == lease.from.incarnation && x->alive;
    };
    if (std::any_of(processes_.begin(), processes_.end(), lives))
      continue;
    auto since = std::max(
      {died_[{lease.from.node, lease.from.incarnation}], head_hindered_});
    if (now() > since + patience)
      refuse(fmt::format("{}/{} died {:.1f} s ago and still holds item {}",
                         lease.from.node, lease.from.incarnation,
                         now() - since, item));
  }
}

void topology_walk::check_end() {
  if (lingers_ && calm_)
    check_settled();
  check_items();
  check_checkpoint();
}

void topology_walk::check_items() {
  auto& plan = journal_->plan();
  for (uint32_t i = 0; i < plan.size(); ++i) {
    auto found = journal_->stages().find(i);
    if (found == journal_->stages().end() || !found->second.over)
      return refuse("stage " + plan[i].name + " is not over");
  }
  std::map<uint32_t, uint64_t> batches;
  for (auto& [step, row] : journal_->batches()) {
    ++batches[row.stage];
    if (!row.committed)
      refuse(fmt::format("batch {} is not committed", step));
  }
  std::map<uint32_t, uint64_t> drawn;
  for (auto& [id, row] : journal_->items()) {
    drawn[row.what.stage] += row.what.kind != item_kind::repair;
    using enum item_status;
    if (row.status == queued || row.status == open || row.status == verified)
      refuse(fmt::format("item {} is left {}", id, to_string(row.status)));
    auto whole = row.status == assigned && !batches_contain(row);
    if (whole)
      refuse(fmt::format("item {} is assigned to batch {} and not in it", id,
                         row.step));
  }
  for (uint32_t i = 0; i < plan.size(); ++i) {
    if (plan[i].trains() && batches[i] != plan[i].batches)
      refuse(fmt::format("stage {} has {} batches instead of {}", plan[i].name,
                         batches[i], plan[i].batches));
    const auto wanted = plan[i].source == item_source::training_pass
                          ? plan_.tasks.train.size()
                        : plan[i].source == item_source::validation
                          ? plan_.tasks.validation.size()
                        : plan[i].source == item_source::held_out
                          ? plan_.tasks.held_out.size()
                          : drawn[i];
    if (drawn[i] != wanted)
      refuse(fmt::format("stage {} drew {} items instead of {}", plan[i].name,
                         drawn[i], wanted));
  }
}

bool topology_walk::batches_contain(const item_row& row) const {
  auto found = journal_->batches().find(row.step);
  return found != journal_->batches().end()
         && std::any_of(found->second.members.begin(),
                        found->second.members.end(),
                        [&](auto& x) { return x.item == row.what.id; });
}

/// The last checkpoint is of the last batch, by its hash and by its weights.
void topology_walk::check_checkpoint() {
  uint64_t hash = chain_start;
  for (auto& [step, row] : journal_->batches())
    hash = row.voided ? chain_void(hash, step)
                      : chain_next(hash, step, row.members);
  std::optional<checkpoint_info> newest;
  auto& nodes = plan_.settings.cluster.nodes;
  for (size_t i = 0; i < std::max<size_t>(1, nodes.size()); ++i) {
    const auto name = nodes.empty() ? "head" : nodes[i].name;
    const auto actors = nodes.empty() ? plan_.settings.actors
                                      : nodes[i].actors;
    if (actors.learner > 0)
      newest = checkpoint_store{folder_ / name / "checkpoints", 1}
                 .newest_valid();
  }
  if (!newest)
    return refuse("there is no checkpoint");
  if (newest->step != journal_->last_committed() || newest->hash != hash)
    refuse(fmt::format("the last checkpoint is of step {} and hash {:016x}; "
                       "the journal ends at {} with {:016x}",
                       newest->step, newest->hash, journal_->last_committed(),
                       hash));
  chained_trainer reader;
  std::optional<uint64_t> weights;
  reader.on_load = [&](uint64_t, uint64_t x) { weights = x; };
  if (auto read = reader.load(newest->directory); !read)
    return refuse(read.error().message);
  auto* known = oracle_->weights_after(hash);
  if (!known || *known != weights)
    refuse("the last checkpoint has other weights than its batches give");
}

/// Nobody has had anything to do for a while: every credit is home.
void topology_walk::check_credits() {
  for (auto& one : processes_) {
    if (!one->alive || one->replaced || !one->spawned.here.pool)
      continue;
    auto& pool = state_of<verifier_state>(one->spawned.here.pool).core();
    const auto used = pool.busy() + pool.queued();
    if (pool.spare() + used != pool.capacity())
      refuse(fmt::format("the pool of {} has {} of {} credits, {} requests run "
                         "and {} wait",
                         one->who.name, pool.spare(), pool.capacity(),
                         pool.busy(), pool.queued()));
  }
  ++counts_.credits_counted;
}

/// Every process is drained and nothing is on its way: what was lent is back.
void topology_walk::check_settled() {
  const auto until = now() + settle_s;
  while (now() < until && violation_.empty())
    turn();
  for (auto& one : processes_) {
    if (!one->alive || one->replaced)
      continue;
    auto& here = one->spawned.here;
    auto& name = one->who.name;
    if (here.publisher) {
      auto& weights = state_of<publisher_state>(here.publisher).core();
      if (weights.kept() > 1)
        refuse(fmt::format("the publisher of {} keeps {} versions", name,
                           weights.kept()));
    }
    // One that was not told, because its node came when all had ended, waits
    // for a head that it does not know.
    for (auto& each : here.rollouts) {
      auto& core = state_of<rollout_state>(each).core();
      if (core.draining() && !core.idle())
        refuse("a rollout of " + name + " still has samples");
    }
    if (one->made.buffer) {
      auto left = one->made.buffer->progress(now());
      if (left.queued + left.open + left.verified + left.assigned > 0)
        refuse("the buffer has items left");
    }
  }
  ++counts_.settled;
}

void topology_walk::count_end() {
  counts_.steps = oracle_->steps();
  counts_.redone = oracle_->redone();
  counts_.virtual_s = now();
  counts_.samples = journal_->samples().size();
  for (auto& [step, row] : journal_->batches())
    counts_.voided += row.voided ? 1 : 0;
  for (auto& [id, row] : journal_->items()) {
    counts_.regrants += row.what.attempts > 1 ? row.what.attempts - 1 : 0;
    counts_.repairs += row.what.kind == item_kind::repair ? 1 : 0;
    counts_.stale += row.reason == discard_reason::stale ? 1 : 0;
    counts_.evicted += row.reason == discard_reason::attempts ? 1 : 0;
  }
}

} // namespace swage::test
