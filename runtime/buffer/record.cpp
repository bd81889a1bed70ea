#include "runtime/buffer/record.hpp"

#include "runtime/buffer/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

/// All rows of a query, each made by `make`.
template <class T, class Make>
result<std::vector<T>> collect(sqlite::database& db, const char* sql,
                               std::initializer_list<sqlite::value> with,
                               Make make) {
  std::vector<T> out;
  auto ok = db.query(sql, with,
                     [&](const sqlite::row& row) { out.push_back(make(row)); });
  if (!ok)
    return tl::unexpected(ok.error());
  return out;
}

uint32_t small(const sqlite::row& row, int column) {
  return static_cast<uint32_t>(row.number(column));
}

sample_record read_sample(const sqlite::row& row) {
  sample_record out;
  out.item = row.number(0);
  out.index = small(row, 1);
  out.stage = small(row, 2);
  out.task = row.text(3);
  out.level = static_cast<int32_t>(row.integer(4));
  out.category = row.text(5);
  out.success = row.integer(6) != 0;
  out.dropped = row.integer(7) != 0;
  out.speedup = row.null(8) ? -1 : row.real(8);
  out.score = row.real(9);
  out.ret = row.real(10);
  out.first_score = row.real(11);
  out.turns = small(row, 12);
  out.step = row.number(13);
  out.version = row.number(14);
  out.response = row.text(15);
  out.detail = row.text(16);
  return out;
}

hop_record summarise(uint32_t stage, const char* hop, const char* unit,
                     std::vector<double> values) {
  hop_record out{stage, hop, values.size()};
  out.unit = unit;
  if (values.empty())
    return out;
  std::sort(values.begin(), values.end());
  auto at = [&](double share) {
    auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<size_t>(share * last + 0.5)];
  };
  for (auto one : values)
    out.mean += one / static_cast<double>(values.size());
  out.p50 = at(0.5);
  out.p90 = at(0.9);
  out.max = values.back();
  return out;
}

} // namespace

result<run_record> run_record::open(const std::filesystem::path& run_db) {
  if (!std::filesystem::exists(run_db))
    return fail(ec::not_found,
                fmt::format("{} does not exist; name a run folder that `swage "
                            "train` made",
                            run_db.string()));
  auto db = sqlite::database::open(run_db, sqlite::access::read);
  if (!db)
    return tl::unexpected(db.error());
  int64_t found = -1;
  auto ok = db->query("PRAGMA user_version", {},
                      [&](auto& row) { found = row.integer(0); });
  if (!ok)
    return tl::unexpected(ok.error());
  if (found != 1 && found != journal_schema)
    return fail(ec::unsupported,
                fmt::format("{} has schema {}, this program reads {}",
                            run_db.string(), found, journal_schema));
  return run_record(std::move(*db), found);
}

result<outline_record> run_record::outline() {
  outline_record out;
  std::string names;
  auto ok = db_.query(
    "SELECT (SELECT value FROM meta WHERE key = 'run.stages'), "
    "(SELECT value FROM meta WHERE key = 'ended'), "
    "(SELECT coalesce(max(step), 0) FROM checkpoint) = "
    "(SELECT coalesce(max(step), 0) FROM batch WHERE committed)",
    {}, [&](const sqlite::row& row) {
      names = row.text(0);
      out.ended = row.text(1);
      out.saved = row.integer(2) != 0;
    });
  if (!ok)
    return tl::unexpected(ok.error());
  if (!names.empty())
    out.stages = 1 + static_cast<uint64_t>(std::ranges::count(names, ' '));
  return out;
}

result<std::vector<stage_record>> run_record::stages() {
  return collect<stage_record>(
    db_,
    "SELECT g.idx, g.name, g.version, g.over, "
    "(SELECT count(*) FROM item WHERE stage = g.idx AND state != 'queued'), "
    "count(s.item), "
    "(SELECT count(*) FROM batch WHERE stage = g.idx), "
    "(SELECT count(*) FROM batch WHERE stage = g.idx AND committed), "
    "(SELECT count(*) FROM batch WHERE stage = g.idx AND voided), "
    "min(nullif(s.granted, 0)), max(s.stored), "
    "(SELECT sum(train_s + publish_s + CASE step WHEN (SELECT min(step) FROM "
    "batch WHERE stage = g.idx) THEN 0 ELSE wait_s END) FROM batch "
    "WHERE stage = g.idx AND committed) "
    "FROM stage g LEFT JOIN item i ON i.stage = g.idx "
    "LEFT JOIN sample s ON s.item = i.id GROUP BY g.idx ORDER BY g.idx",
    {}, [](auto& row) {
      return stage_record{small(row, 0),       row.text(1),   row.number(2),
                          row.integer(3) != 0, row.number(4), row.number(5),
                          row.number(6),       row.number(7), row.number(8),
                          row.real(9),         row.real(10),  row.real(11)};
    });
}

result<std::vector<state_count>> run_record::states() {
  return collect<state_count>(
    db_,
    "SELECT stage, state, reason, count(*) FROM item "
    "GROUP BY stage, state, reason ORDER BY stage, count(*) DESC",
    {}, [](auto& row) {
      return state_count{small(row, 0), row.text(1), row.text(2),
                         row.number(3)};
    });
}

result<std::vector<category_count>> run_record::categories() {
  return collect<category_count>(
    db_,
    "SELECT i.stage, s.category, count(*) FROM item i "
    "JOIN sample s ON s.item = i.id GROUP BY i.stage, s.category "
    "ORDER BY i.stage, count(*) DESC, s.category",
    {}, [](auto& row) {
      return category_count{small(row, 0), row.text(1), row.number(2)};
    });
}

result<std::vector<sample_record>> run_record::best_kernels() {
  // A bare column beside max() is of the row that holds it (SQLite).
  return collect<sample_record>(
    db_,
    "SELECT s.item, s.idx, i.stage, i.task, i.level, s.category, s.success, "
    "s.dropped, max(coalesce(s.speedup, -1)), s.score, s.ret, s.first_score, "
    "s.turns, s.step, s.oldest, s.response, s.detail "
    "FROM item i JOIN sample s ON s.item = i.id WHERE s.success "
    "GROUP BY i.task ORDER BY 9 DESC, i.task",
    {}, read_sample);
}

result<std::vector<sample_record>>
run_record::samples_of(const std::string& task, uint32_t limit) {
  return collect<sample_record>(
    db_,
    "SELECT s.item, s.idx, i.stage, i.task, i.level, s.category, s.success, "
    "s.dropped, s.speedup, s.score, s.ret, s.first_score, s.turns, s.step, "
    "s.oldest, s.response, s.detail "
    "FROM item i JOIN sample s ON s.item = i.id WHERE i.task = ? "
    "ORDER BY s.item DESC, s.idx LIMIT ?",
    {task, limit}, read_sample);
}

result<std::vector<sample_record>> run_record::evaluation(uint32_t stage) {
  return collect<sample_record>(
    db_,
    "SELECT s.item, s.idx, i.stage, i.task, i.level, s.category, s.success, "
    "s.dropped, s.speedup, s.score, s.ret, s.first_score, s.turns, s.step, "
    "s.oldest, '', '' "
    "FROM item i JOIN sample s ON s.item = i.id "
    "WHERE i.stage = ? AND i.kind = 'eval' "
    "ORDER BY i.task, s.idx",
    {stage}, read_sample);
}

result<std::vector<hop_record>> run_record::hops() {
  struct part {
    const char* name;
    const char* unit;
    std::vector<double> values;
  };
  std::vector<hop_record> out;
  std::vector<part> parts;
  uint32_t stage = 0;
  auto finish = [&] {
    for (auto& one : parts)
      if (!one.values.empty())
        out.push_back(
          summarise(stage, one.name, one.unit, std::move(one.values)));
    parts.clear();
    for (auto* name : {"queue", "decode", "verify", "store", "wait"})
      parts.push_back({name, "s", {}});
    for (auto* name : {"in flight", "in queue", "total"})
      parts.push_back({name, "versions", {}});
  };
  finish();
  // A hop that was not reached is 0: its differences are NULL.
  auto ok = db_.query(
    "SELECT stage, f - g, l - f, v - l, w - v, t - w, newest - oldest, "
    "step - 1 - newest, staleness FROM (SELECT i.stage AS stage, "
    "nullif(granted, 0) AS g, nullif(first_token, 0) AS f, "
    "nullif(last_token, 0) AS l, nullif(verified, 0) AS v, "
    "nullif(stored, 0) AS w, nullif(trained, 0) AS t, newest, oldest, s.step "
    "AS step, staleness FROM item i JOIN sample s ON s.item = i.id "
    "WHERE NOT s.dropped) ORDER BY stage",
    {}, [&](const sqlite::row& row) {
      if (small(row, 0) != stage)
        finish();
      stage = small(row, 0);
      for (size_t i = 0; i < parts.size(); ++i)
        if (auto column = static_cast<int>(i) + 1; !row.null(column))
          parts[i].values.push_back(row.real(column));
    });
  if (!ok)
    return tl::unexpected(ok.error());
  finish();
  return out;
}

result<std::vector<drift_report>> run_record::drift() {
  auto* sql = schema_ == 1 ? "SELECT *, 0, 0, 0 FROM drift ORDER BY step"
                           : "SELECT * FROM drift ORDER BY step";
  return collect<drift_report>(
    db_, sql, {}, [](auto& row) {
      return drift_report{row.number(0), row.real(1),    row.real(2),
                          row.real(3),   row.real(4),    row.real(5),
                          row.real(6),   row.number(7),  small(row, 8),
                          small(row, 9), small(row, 10), small(row, 11),
                          row.real(12),  row.number(13), row.number(14),
                          row.number(15)};
    });
}

result<std::vector<mask_record>> run_record::masked(uint32_t limit) {
  return collect<mask_record>(
    db_,
    "SELECT s.step, s.item, s.idx, s.mean_abs, s.mean_signed, s.floor, "
    "s.staleness, i.task, s.category, s.ret, d.delta "
    "FROM sample s JOIN item i ON i.id = s.item "
    "LEFT JOIN drift d ON d.step = s.step WHERE s.kept = 0 "
    "ORDER BY s.step DESC, s.mean_abs DESC LIMIT ?",
    {limit}, [](auto& row) {
      return mask_record{{row.number(0), row.number(1), small(row, 2),
                          row.real(3), row.real(4), row.real(5), row.number(6),
                          false},
                         row.text(7),
                         row.text(8),
                         row.real(9),
                         row.real(10)};
    });
}

result<std::vector<batch_record>> run_record::batches() {
  return collect<batch_record>(
    db_,
    "SELECT step, stage, hash, deliveries, committed, voided, loss, grad_norm, "
    "lr, clip_fraction, entropy, mean_return, mean_abs_log_ratio, tokens, "
    "samples, kept, stepped, wait_s, train_s, publish_s, "
    "(SELECT name FROM stage WHERE idx = batch.stage) FROM batch ORDER BY step",
    {}, [](auto& row) {
      batch_record out{row.number(0),
                       small(row, 1),
                       row.number(2),
                       small(row, 3),
                       row.integer(4) != 0,
                       row.integer(5) != 0,
                       {}};
      auto& to = out.report;
      to.step = out.step;
      from_string(row.text(20), to.kind);
      to.loss = row.real(6);
      to.grad_norm = row.real(7);
      to.lr = row.real(8);
      to.clip_fraction = row.real(9);
      to.entropy = row.real(10);
      to.mean_return = row.real(11);
      to.mean_abs_log_ratio = row.real(12);
      to.tokens = row.number(13);
      to.samples = small(row, 14);
      to.kept = small(row, 15);
      to.stepped = row.integer(16) != 0;
      to.wait_s = row.real(17);
      to.train_s = row.real(18);
      to.publish_s = row.real(19);
      return out;
    });
}

} // namespace swage
