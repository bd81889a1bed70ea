#include "runtime/buffer/sqlite.hpp"
#include "runtime/store/checkpoint.hpp"
#include "tools/bench/run_audit.hpp"

#include <limits>

namespace swage::bench {

namespace {

uint32_t small(const sqlite::row& row, int column) {
  return static_cast<uint32_t>(row.number(column));
}

void read_batches(sqlite::queries& read, run_facts& to) {
  read("SELECT step, stage, hash, committed, voided FROM batch ORDER BY step",
       [&](auto& row) {
         to.batches.push_back({row.number(0),
                               small(row, 1),
                               row.number(2),
                               row.integer(3) != 0,
                               row.integer(4) != 0,
                               {}});
       });
  size_t at = 0;
  read("SELECT step, item, idx, kind FROM batch_sample ORDER BY step, item, "
       "idx",
       [&](auto& row) {
         while (at < to.batches.size() && to.batches[at].step < row.number(0))
           ++at;
         if (at < to.batches.size() && to.batches[at].step == row.number(0))
           to.batches[at].members.push_back(
             {row.number(1), small(row, 2), row.text(3)});
       });
}

void read_items(sqlite::queries& read, run_facts& to) {
  read("SELECT id, stage, kind, state, reason, step, samples FROM item",
       [&](auto& row) {
         to.items[row.number(0)] = {
           small(row, 1), row.text(2),   row.text(3), row.text(4),
           row.number(5), small(row, 6), {}};
       });
  read("SELECT item, idx, text_hash, dropped, oldest, newest FROM sample",
       [&](auto& row) {
         to.items[row.number(0)].stored[small(row, 1)] = {
           row.number(2), row.integer(3) != 0, !row.null(4), row.number(4),
           row.number(5)};
       });
}

void read_checkpoints(const std::filesystem::path& folder, run_facts& to) {
  constexpr auto all = std::numeric_limits<uint32_t>::max();
  for (auto& path : checkpoint_store{folder, all}.list()) {
    run_facts::checkpoint one;
    one.name = path.filename().string();
    if (auto opened = checkpoint_store::open(path)) {
      one.step = opened->step;
      one.hash = opened->hash;
    } else {
      one.trouble = opened.error().message;
    }
    to.checkpoints.push_back(std::move(one));
  }
}

} // namespace

result<run_facts> read_facts(const std::filesystem::path& run) {
  auto db = sqlite::database::open(run / "run.db", sqlite::access::read);
  if (!db)
    return tl::unexpected{db.error()};
  run_facts out;
  sqlite::queries read{*db};
  // One snapshot for all of it, should somebody write.
  read("BEGIN", [](auto&) {});
  read("SELECT name, version, over FROM stage ORDER BY idx", [&](auto& row) {
    out.stages.push_back({row.text(0), row.number(1), row.integer(2) != 0});
  });
  read_batches(read, out);
  read_items(read, out);
  read("SELECT value FROM meta WHERE key = 'openings'",
       [&](auto& row) { out.openings = std::stoull(row.text(0)); });
  read("COMMIT", [](auto&) {});
  if (!read.ok)
    return tl::unexpected{read.ok.error()};
  read_checkpoints(run / "checkpoints", out);
  return out;
}

} // namespace swage::bench
