#include "runtime/buffer/repair.hpp"

namespace swage {

int reach(category outcome) {
  switch (outcome) {
  case category::compile_no_code:
    return 0;
  case category::compile_python_syntax:
    return 1;
  case category::compile_bad_interface:
  case category::compile_state_mismatch:
    return 2;
  case category::compile_missing_header:
    return 3;
  case category::compile_compiler:
  case category::compile_timeout:
    return 4;
  case category::compile_link:
    return 5;
  default:
    break;
  }
  if (outcome == category::ok)
    return 9;
  if (is_uncharged(outcome))
    return -1;
  if (outcome < category::correctness_shape)
    return 6; // runtime_error
  return outcome < category::cheating_disallowed_aten ? 8 : 7;
}

const sample_row& furthest(const std::map<uint32_t, sample_row>& samples) {
  const sample_row* best = nullptr;
  for (auto& [index, one] : samples)
    if (!one.dropped && (!best || reach(one.kind) > reach(best->kind)))
      best = &one;
  return *best;
}

item_row make_repair(const item_row& failed, const sample_row& candidate) {
  item_row row;
  row.what.stage = failed.what.stage;
  row.what.kind = item_kind::repair;
  row.what.task_id = failed.what.task_id;
  row.what.failed_response = candidate.text;
  row.what.feedback = candidate.feedback;
  row.what.depth = failed.what.depth + 1;
  row.samples = failed.samples;
  row.status = item_status::queued;
  row.parent = failed.what.id;
  row.level = failed.level;
  return row;
}

} // namespace swage
