#include "tools/bench/run_audit.hpp"

#include "runtime/buffer/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace swage::bench {

namespace {

using faults = std::vector<std::string>;
using key = std::pair<uint64_t, uint32_t>;

enum class group_state { trained, waiting, discarded, lost };

bool is_rl(const run_facts& run, uint32_t stage) {
  return stage < run.stages.size() && run.stages[stage].name.starts_with("rl-");
}

bool is_waiting(const run_facts::item& one) {
  return one.state == "queued" || one.state == "verified"
         || (one.state == "open" && one.stored.size() < one.samples);
}

const run_facts::batch* find_batch(const run_facts& run, uint64_t step) {
  auto at = std::ranges::lower_bound(run.batches, step, {},
                                     &run_facts::batch::step);
  return at != run.batches.end() && at->step == step ? &*at : nullptr;
}

/// Whether exactly its samples that count are members of its batch.
bool is_trained(const run_facts& run, uint64_t id, const run_facts::item& one) {
  auto* in = find_batch(run, one.step);
  if (!in || in->voided)
    return false;
  std::set<uint32_t> wanted, found;
  for (auto& [index, sample] : one.stored)
    if (!sample.dropped)
      wanted.insert(index);
  for (auto& member : in->members)
    if (member.item == id)
      found.insert(member.index);
  return !found.empty() && found == wanted;
}

group_state state_of(const run_facts& run, uint64_t id,
                     const run_facts::item& one) {
  if (one.state == "assigned")
    return is_trained(run, id, one) ? group_state::trained : group_state::lost;
  if (one.state == "discarded")
    return one.reason.empty() || one.reason == "none" ? group_state::lost
                                                      : group_state::discarded;
  return is_waiting(one) ? group_state::waiting : group_state::lost;
}

void check_steps(const run_facts& run, faults& to) {
  bool open = false;
  for (size_t i = 0; i < run.batches.size(); ++i) {
    auto& one = run.batches[i];
    if (one.step != i + 1)
      return to.push_back(fmt::format("step {} is missing: step {} follows {}",
                                      i + 1, one.step, i));
    if (open && one.committed)
      to.push_back(fmt::format("step {} is committed, the one before it is "
                               "not",
                               one.step));
    open = !one.committed;
  }
}

void check_chain(const run_facts& run, faults& to) {
  auto chain = recomputed_chain(run);
  for (size_t i = 0; i < run.batches.size(); ++i)
    if (run.batches[i].hash != chain[i + 1])
      return to.push_back(fmt::format(
        "batch {} is recorded with hash {:016x}, its members give {:016x}",
        run.batches[i].step, run.batches[i].hash, chain[i + 1]));
  for (auto& one : run.checkpoints) {
    if (!one.trouble.empty())
      to.push_back(fmt::format("checkpoint {}: {}", one.name, one.trouble));
    else if (one.step >= chain.size())
      to.push_back(fmt::format("checkpoint {} is of step {}, the journal ends "
                               "at {}",
                               one.name, one.step, chain.size() - 1));
    else if (one.hash != chain[one.step])
      to.push_back(fmt::format("checkpoint {} has chain hash {:016x}, the "
                               "journal gives {:016x}",
                               one.name, one.hash, chain[one.step]));
  }
}

void check_disjoint(const run_facts& run, faults& to) {
  std::map<uint64_t, uint64_t> step_of;
  for (auto& one : run.batches)
    for (auto& member : one.members) {
      if (member.kind == "example")
        continue;
      auto [at, fresh] = step_of.emplace(member.item, one.step);
      if (!fresh && at->second != one.step)
        to.push_back(fmt::format("group {} is in the batches {} and {}",
                                 member.item, at->second, one.step));
    }
}

void check_evaluation(const run_facts& run, uint32_t stage, uint64_t items,
                      faults& to) {
  uint64_t scored = 0;
  for (auto& [id, one] : run.items) {
    if (one.stage != stage)
      continue;
    scored += one.state == "scored" && one.stored.size() == one.samples;
    for (auto& [index, sample] : one.stored)
      if (sample.versioned
          && (sample.oldest != run.stages[stage].version
              || sample.newest != run.stages[stage].version))
        to.push_back(fmt::format(
          "sample ({}, {}) of an evaluation of version {} is of versions {} "
          "to {}",
          id, index, run.stages[stage].version, sample.oldest, sample.newest));
  }
  if (scored != items)
    to.push_back(fmt::format("evaluation {} has {} of {} items scored whole",
                             stage, scored, items));
}

/// The newest ones are kept, and of those before the last of each stage.
void check_kept(const run_facts& run, size_t keep_last, faults& to) {
  auto stage_of = [&](const run_facts::checkpoint& one) {
    auto step = one.step;
    return step > 0 && step <= run.batches.size() ? run.batches[step - 1].stage
                                                  : uint32_t(-1);
  };
  auto& all = run.checkpoints;
  for (size_t i = 0; i + keep_last < all.size(); ++i)
    if (stage_of(all[i]) == stage_of(all[i + 1]))
      to.push_back(fmt::format("checkpoint {} is kept, though {} newer ones "
                               "are and it is not the last of its stage",
                               all[i].name, all.size() - i - 1));
}

void check_end(const run_facts& run, const expected_end& end, faults& to) {
  if (run.batches.size() != end.batches || !run.batches.back().committed)
    to.push_back(fmt::format("expected {} batches, all committed; found {}",
                             end.batches, run.batches.size()));
  if (run.checkpoints.empty()
      || run.checkpoints.back().step != run.batches.size())
    to.push_back(fmt::format(
      "expected a checkpoint of step {}, found {}", run.batches.size(),
      run.checkpoints.empty() ? "none" : run.checkpoints.back().name));
  check_kept(run, end.keep_last, to);
}

} // namespace

std::vector<uint64_t> recomputed_chain(const run_facts& run) {
  std::vector<uint64_t> out = {chain_start};
  for (auto& one : run.batches) {
    std::vector<batch_member> members;
    for (auto& member : one.members)
      members.push_back({member.item, member.index});
    std::ranges::sort(members, comes_before);
    out.push_back(one.voided ? chain_void(out.back(), one.step)
                             : chain_next(out.back(), one.step, members));
  }
  return out;
}

group_counts count_groups(const run_facts& run) {
  group_counts out;
  for (auto& [id, one] : run.items) {
    if (!is_rl(run, one.stage))
      continue;
    auto state = state_of(run, id, one);
    out.trained += state == group_state::trained;
    out.waiting += state == group_state::waiting;
    out.discarded += state == group_state::discarded;
    out.lost += state == group_state::lost;
  }
  return out;
}

std::vector<std::string> find_faults(const run_facts& run) {
  faults out;
  check_steps(run, out);
  check_chain(run, out);
  check_disjoint(run, out);
  for (auto& [id, one] : run.items)
    if (is_rl(run, one.stage) && state_of(run, id, one) == group_state::lost)
      out.push_back(fmt::format("group {} is lost: {} ({}), {} of {} samples, "
                                "step {}",
                                id, one.state, one.reason, one.stored.size(),
                                one.samples, one.step));
  return out;
}

std::vector<std::string> find_losses(const run_facts& before,
                                     const run_facts& after) {
  faults out;
  for (auto& [id, one] : before.items) {
    auto found = after.items.find(id);
    for (auto& [index, sample] : one.stored) {
      bool same = found != after.items.end()
                  && found->second.stored.contains(index)
                  && found->second.stored.at(index).text_hash
                       == sample.text_hash;
      if (!same)
        out.push_back(fmt::format("sample ({}, {}) was stored and is not any "
                                  "more, or is another one",
                                  id, index));
    }
  }
  for (auto& one : before.batches) {
    auto* now = find_batch(after, one.step);
    if (!now || (now->hash != one.hash && !now->voided))
      out.push_back(fmt::format("batch {} was recorded and is not any more, "
                                "or is another one",
                                one.step));
    else if (one.committed && !now->committed)
      out.push_back(
        fmt::format("batch {} was committed and is not any more", one.step));
  }
  return out;
}

std::vector<std::string> find_unfinished(const run_facts& run,
                                         const expected_end& end) {
  faults out;
  if (run.stages.size() != end.stages
      || !std::ranges::all_of(run.stages, &run_facts::stage::over))
    out.push_back(fmt::format("{} of {} stages began, not all are over",
                              run.stages.size(), end.stages));
  if (run.batches.empty()) {
    out.push_back("no batch was recorded");
    return out;
  }
  check_end(run, end, out);
  for (auto& [id, one] : run.items)
    if (is_waiting(one) || one.state == "open")
      out.push_back(
        fmt::format("item {} is {} though the run is over", id, one.state));
  for (uint32_t i = 0; i < run.stages.size(); ++i)
    if (run.stages[i].name.starts_with("eval"))
      check_evaluation(run, i, end.evaluation_items, out);
  return out;
}

} // namespace swage::bench
