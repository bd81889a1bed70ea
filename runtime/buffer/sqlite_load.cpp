#include "runtime/buffer/payload.hpp"
#include "runtime/buffer/sqlite_journal.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace swage {

namespace {

item_kind kind_of(const std::string& name) {
  constexpr std::array names = {"task", "repair", "example", "eval"};
  for (size_t i = 0; i < names.size(); ++i)
    if (name == names[i])
      return static_cast<item_kind>(i);
  return item_kind::task;
}

item_row read_item(const sqlite::row& row) {
  item_row out;
  out.what.id = row.number(0);
  out.what.stage = static_cast<uint32_t>(row.number(1));
  out.what.kind = kind_of(row.text(2));
  out.what.task_id = row.text(3);
  out.samples = static_cast<uint32_t>(row.number(4));
  out.what.attempts = static_cast<uint32_t>(row.number(5));
  from_string(row.text(6), out.status);
  from_string(row.text(7), out.reason);
  out.step = row.number(8);
  out.what.depth = static_cast<uint32_t>(row.number(9));
  out.parent = row.number(10);
  out.what.failed_response = row.text(11);
  out.what.feedback = row.text(12);
  out.level = static_cast<int32_t>(row.integer(13));
  return out;
}

sample_row read_sample(const sqlite::row& row) {
  sample_row out;
  out.item = row.number(0);
  out.index = static_cast<uint32_t>(row.number(1));
  out.ret = row.real(2);
  out.versioned = !row.null(3);
  out.oldest = row.number(3);
  out.bytes = row.number(4);
  out.text_hash = row.number(5);
  from_string(row.text(6), out.kind);
  out.dropped = row.integer(7) != 0;
  out.success = row.integer(8) != 0;
  out.failed = row.integer(9) != 0;
  out.text = row.text(10);
  out.feedback = row.text(11);
  return out;
}

batch_row read_batch(const sqlite::row& row) {
  batch_row out;
  out.step = row.number(0);
  out.stage = static_cast<uint32_t>(row.number(1));
  out.hash = row.number(2);
  out.deliveries = static_cast<uint32_t>(row.number(3));
  out.epoch = row.number(4);
  out.committed = row.integer(5) != 0;
  out.voided = row.integer(6) != 0;
  return out;
}

} // namespace

result<journal_image> sqlite_journal::load() {
  journal_image out;
  sqlite::queries read{db_};
  read("SELECT key, value FROM meta",
       [&](auto& row) { out.meta[row.text(0)] = row.text(1); });
  // What a repair was made of is only needed while it may be granted.
  read("SELECT id, stage, kind, task, samples, attempts, state, reason, step, "
       "depth, parent, "
       "CASE WHEN state IN ('queued','open') THEN failed_response END, "
       "CASE WHEN state IN ('queued','open') THEN feedback END, level "
       "FROM item ORDER BY id",
       [&](auto& row) { out.items.push_back(read_item(row)); });
  read("SELECT s.item, s.idx, s.ret, s.oldest, s.bytes, s.text_hash, "
       "s.category, s.dropped, s.success, s.failed, "
       "CASE WHEN s.failed THEN s.response END, "
       "CASE WHEN s.failed THEN s.feedback END "
       "FROM item i CROSS JOIN sample s ON s.item = i.id "
       "WHERE i.state IN ('open','verified','collected') "
       "OR (i.state = 'assigned' AND i.step > "
       "(SELECT coalesce(max(step), 0) FROM batch WHERE committed)) "
       "ORDER BY s.item, s.idx",
       [&](auto& row) { out.samples.push_back(read_sample(row)); });
  read("SELECT step, stage, hash, deliveries, epoch, committed, voided "
       "FROM batch ORDER BY step",
       [&](auto& row) { out.batches.push_back(read_batch(row)); });
  read("SELECT step, item, idx, kind FROM batch_sample "
       "ORDER BY step, position",
       [&](auto& row) {
         auto at = row.number(0);
         if (at >= 1 && at <= out.batches.size())
           out.batches[at - 1].members.push_back(
             {row.number(1), static_cast<uint32_t>(row.number(2)),
              kind_of(row.text(3))});
       });
  read("SELECT idx, name, version, over, cut FROM stage ORDER BY idx",
       [&](auto& row) {
         out.stages.push_back({static_cast<uint32_t>(row.number(0)),
                               row.text(1), row.number(2), row.integer(3) != 0,
                               row.integer(4) != 0});
       });
  read("SELECT step, hash FROM checkpoint ORDER BY step", [&](auto& row) {
    out.checkpoints.push_back({row.number(0), row.number(1)});
  });
  read("SELECT i.stage, i.reason, s.category, count(*) "
       "FROM item i JOIN sample s ON s.item = i.id "
       "WHERE i.state = 'discarded' "
       "AND i.step = (SELECT coalesce(max(step), 0) FROM batch) "
       "GROUP BY i.stage, i.reason, s.category",
       [&](auto& row) {
         discarded_samples one{static_cast<uint32_t>(row.number(0))};
         from_string(row.text(1), one.reason);
         from_string(row.text(2), one.kind);
         one.count = row.number(3);
         out.discarded.push_back(one);
       });
  read("SELECT coalesce(max(epoch), 0) FROM epoch",
       [&](auto& row) { out.epoch = row.number(0); });
  if (!read.ok)
    return tl::unexpected(read.ok.error());
  return out;
}

result<trajectory> sqlite_journal::fetch(uint64_t item, uint32_t index) {
  result<trajectory> out = fail(
    ec::not_found,
    fmt::format("no sample ({}, {}) in the journal", item, index));
  auto ok = db_.query(
    "SELECT payload FROM sample WHERE item=? AND idx=?", {item, index},
    [&](auto& row) {
      if (row.null(0))
        out = fail(ec::not_found,
                   fmt::format("the payload of sample ({}, {}) was dropped: "
                               "no kept checkpoint needs it",
                               item, index));
      else
        out = decode(row.bytes(0));
    });
  if (!ok)
    return tl::unexpected(ok.error());
  return out;
}

result<bool> sqlite_journal::has_sample(uint64_t item, uint32_t index) {
  bool found = false;
  auto ok = db_.query("SELECT 1 FROM sample WHERE item=? AND idx=?",
                      {item, index}, [&](auto&) { found = true; });
  if (!ok)
    return tl::unexpected(ok.error());
  return found;
}

result<std::vector<judgement>> sqlite_journal::judgements(uint64_t step) {
  std::vector<judgement> out;
  auto ok = db_.query(
    "SELECT item, idx, mean_abs, mean_signed, floor, staleness, kept, weights "
    "FROM sample WHERE step=? AND kept IS NOT NULL ORDER BY item, idx",
    {step}, [&](auto& row) {
      out.push_back({step, row.number(0), static_cast<uint32_t>(row.number(1)),
                     row.real(2), row.real(3), row.real(4), row.number(5),
                     row.integer(6) != 0});
      auto bytes = row.bytes(7); // None where it is NULL.
      auto& weights = out.back().weights;
      weights.resize(bytes.size() / sizeof(float));
      if (!weights.empty())
        std::memcpy(weights.data(), bytes.data(),
                    weights.size() * sizeof(float));
    });
  if (!ok)
    return tl::unexpected(ok.error());
  return out;
}

} // namespace swage
