#include "runtime/buffer/rows.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>

namespace swage {

namespace {

constexpr std::array statuses = {
  "queued", "open", "verified", "assigned", "discarded", "collected", "scored"};

constexpr std::array reasons = {
  "",      "attempts", "no_spread", "failed",    "infra", "task_invalid",
  "stale", "poison",   "evicted",   "stage_over"};

template <class Names, class Enum>
bool find(const Names& names, const std::string& text, Enum& value) {
  auto at = std::find(names.begin(), names.end(), text);
  if (at == names.end())
    return false;
  value = static_cast<Enum>(at - names.begin());
  return true;
}

/// A sample that says nothing about the policy, or that holds nothing.
bool is_dropped(const trajectory& what, stage_kind stage, bool versioned) {
  if (what.turns.empty())
    return true;
  for (auto& one : what.turns)
    if (is_uncharged(one.outcome.kind))
      return true;
  // A synthesised solution that does not exist comes back without text.
  if (stage == stage_kind::teach)
    return what.turns.front().text.empty();
  // In an evaluation, a prompt that is too long for the policy is a failure.
  return stage != stage_kind::eval && !versioned;
}

} // namespace

const char* to_string(item_status value) {
  return statuses[static_cast<size_t>(value)];
}

const char* to_string(discard_reason value) {
  return reasons[static_cast<size_t>(value)];
}

bool from_string(const std::string& text, item_status& value) {
  return find(statuses, text, value);
}

bool from_string(const std::string& text, discard_reason& value) {
  return find(reasons, text, value);
}

size_t best_turn(const trajectory& what) {
  auto best = std::max_element(
    what.turns.begin(), what.turns.end(),
    [](const turn& a, const turn& b) { return a.score < b.score; });
  return static_cast<size_t>(best - what.turns.begin());
}

bool trains_all_turns(stage_kind stage, item_kind kind) {
  return stage != stage_kind::rl_multi || kind == item_kind::repair;
}

bool oldest_trained(const trajectory& what, bool all_turns, uint64_t& version) {
  bool found = false;
  for (auto& one : what.turns) {
    for (auto& run : one.versions) {
      if (run.count == 0)
        continue;
      version = found ? std::min(version, run.version) : run.version;
      found = true;
    }
    if (!all_turns)
      break;
  }
  return found;
}

sample_row summarize(const trajectory& what, stage_kind stage, item_kind kind) {
  sample_row row;
  row.item = what.item;
  row.index = what.index;
  row.ret = what.ret;
  row.bytes = what.bytes();
  row.versioned = oldest_trained(what, trains_all_turns(stage, kind),
                                 row.oldest);
  row.dropped = is_dropped(what, stage, row.versioned);
  if (what.turns.empty())
    return row;
  auto& best = what.turns[best_turn(what)];
  row.kind = best.outcome.kind;
  row.text_hash = XXH3_64bits(best.text.data(), best.text.size());
  if (row.dropped) {
    for (auto& one : what.turns)
      if (is_uncharged(one.outcome.kind))
        row.kind = one.outcome.kind;
    return row;
  }
  row.success = best.outcome.ok() && best.score >= 1;
  row.failed = std::all_of(what.turns.begin(), what.turns.end(),
                           [](const turn& x) { return x.score <= -1; });
  if (row.failed) {
    row.text = best.text;
    row.feedback = best.feedback;
  }
  return row;
}

} // namespace swage
