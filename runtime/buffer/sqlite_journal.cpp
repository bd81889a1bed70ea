#include "runtime/buffer/sqlite_journal.hpp"

#include "runtime/buffer/payload.hpp"
#include "runtime/buffer/schema.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

namespace swage {

namespace {

const char* name_of(item_kind kind) {
  constexpr const char* names[] = {"task", "repair", "example", "eval"};
  return names[static_cast<size_t>(kind)];
}

/// Not measured is NULL, not a number that a query would average.
sqlite::value measured(double speedup) {
  if (!(speedup >= 0) || !std::isfinite(speedup))
    return nullptr;
  return speedup;
}

} // namespace

sqlite_journal::sqlite_journal(sqlite::database db, int lock)
  : db_(std::move(db)), lock_(lock) {}

sqlite_journal::~sqlite_journal() {
  rollback();
  ::close(lock_);
}

result<std::unique_ptr<sqlite_journal>>
sqlite_journal::open(const std::filesystem::path& path,
                     const sqlite_options& options) {
  auto lock_path = path.string() + ".lock";
  int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0)
    return fail(ec::io, fmt::format("{}: {}; the run folder must exist and be "
                                    "writable",
                                    lock_path, std::strerror(errno)));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return fail(ec::io, fmt::format("{} is being written by another process; "
                                    "stop that run first",
                                    path.string()));
  }
  auto db = sqlite::database::open(path, sqlite::access::write);
  if (!db) {
    ::close(lock);
    return tl::unexpected(db.error());
  }
  std::unique_ptr<sqlite_journal> out(new sqlite_journal(std::move(*db), lock));
  if (auto ok = out->prepare(options); !ok)
    return tl::unexpected(ok.error());
  return out;
}

result<void> sqlite_journal::prepare(const sqlite_options& options) {
  if (auto ok = db_.script("PRAGMA journal_mode = WAL;"
                           "PRAGMA synchronous = FULL;");
      !ok)
    return ok;
  int64_t found = 0, page = 4096;
  auto ok = db_.query("PRAGMA user_version", {},
                      [&](auto& row) { found = row.integer(0); });
  if (!ok)
    return ok;
  if (found != 0 && found != 1 && found != journal_schema)
    return fail(ec::unsupported,
                fmt::format("run.db has schema {}, this program writes {}; "
                            "resume it with the program that began it",
                            found, journal_schema));
  if (found != journal_schema) {
    auto made = db_.script(fmt::format("BEGIN IMMEDIATE; {} PRAGMA "
                                       "user_version = {}; COMMIT;",
                                       found == 0 ? create_journal
                                                  : upgrade_journal,
                                       journal_schema)
                             .c_str());
    if (!made)
      return made;
  }
  if (options.max_bytes == 0)
    return {};
  ok = db_.query("PRAGMA page_size", {},
                 [&](auto& row) { page = row.integer(0); });
  if (!ok)
    return ok;
  return db_.script(fmt::format("PRAGMA max_page_count = {};",
                                static_cast<int64_t>(options.max_bytes) / page)
                      .c_str());
}

void sqlite_journal::write(const char* sql,
                           std::initializer_list<sqlite::value> with) {
  if (failure_)
    return;
  if (!begun_) {
    auto ok = db_.script("BEGIN IMMEDIATE");
    begun_ = ok.has_value();
    if (!ok) {
      failure_ = ok.error();
      return;
    }
  }
  if (auto ok = db_.run(sql, with); !ok)
    failure_ = ok.error();
}

void sqlite_journal::rollback() {
  // Some failures roll back by themselves; then this one has nothing to do.
  if (begun_)
    (void) db_.script("ROLLBACK");
  begun_ = false;
  failure_.reset();
}

result<double> sqlite_journal::commit() {
  auto start = std::chrono::steady_clock::now();
  if (begun_ && !failure_)
    if (auto ok = db_.script("COMMIT"); !ok)
      failure_ = ok.error();
  if (failure_) {
    auto why = *failure_;
    rollback();
    // Whatever keeps it from being written, nothing was stored.
    return fail(ec::journal_full, why.message);
  }
  begun_ = false;
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

void sqlite_journal::put(const item_row& row) {
  write("INSERT INTO item VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
        "ON CONFLICT(id) DO UPDATE SET stage=excluded.stage, "
        "attempts=excluded.attempts, state=excluded.state, "
        "reason=excluded.reason, step=excluded.step",
        {row.what.id, row.what.stage, name_of(row.what.kind), row.what.task_id,
         row.level, row.samples, row.what.attempts, to_string(row.status),
         to_string(row.reason), row.step, row.what.depth,
         row.parent == 0 ? sqlite::value(nullptr) : sqlite::value(row.parent),
         row.what.failed_response, row.what.feedback});
}

void sqlite_journal::put(const sample_row& row, const trajectory& whole,
                         bool keep_payload) {
  static const turn nothing;
  auto& best = whole.turns.empty() ? nothing : whole.turns[best_turn(whole)];
  auto& first = whole.turns.empty() ? nothing : whole.turns.front();
  uint64_t tokens = 0;
  for (auto& one : whole.turns)
    tokens += one.response.size();
  std::vector<std::byte> payload;
  sqlite::value blob = nullptr;
  if (keep_payload) {
    payload = encode(whole);
    blob = std::span<const std::byte>(payload);
  }
  sqlite::value oldest = nullptr, newest = nullptr;
  if (row.versioned) {
    oldest = row.oldest;
    newest = whole.newest_version();
  }
  auto& hops = whole.hops;
  write("INSERT INTO sample(item, idx, category, success, speedup, score, ret, "
        "first_score, turns, pass_fraction, tokens, oldest, newest, dropped, "
        "failed, granted, first_token, last_token, verified, stored, response, "
        "feedback, detail, text_hash, bytes, payload) "
        "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        {row.item,
         row.index,
         to_string(row.kind),
         row.success,
         measured(best.outcome.speedup),
         best.score,
         row.ret,
         first.score,
         whole.turns.size(),
         best.outcome.pass_fraction,
         tokens,
         oldest,
         newest,
         row.dropped,
         row.failed,
         hops.granted,
         hops.first_token,
         hops.last_token,
         hops.verified,
         hops.stored,
         best.text,
         best.feedback,
         best.outcome.detail,
         row.text_hash,
         row.bytes,
         blob});
}

void sqlite_journal::put(const batch_row& row) {
  bool known = false;
  if (auto ok = db_.query("SELECT 1 FROM batch WHERE step=?", {row.step},
                          [&](auto&) { known = true; });
      !ok && !failure_)
    failure_ = ok.error();
  if (known)
    return write("UPDATE batch SET hash=?, deliveries=?, epoch=?, committed=?, "
                 "voided=? WHERE step=?",
                 {row.hash, row.deliveries, row.epoch, row.committed,
                  row.voided, row.step});
  write("INSERT INTO batch(step, stage, hash, deliveries, epoch, committed, "
        "voided) VALUES(?,?,?,?,?,?,?)",
        {row.step, row.stage, row.hash, row.deliveries, row.epoch,
         row.committed, row.voided});
  put_members(row);
}

void sqlite_journal::put_members(const batch_row& row) {
  uint64_t position = 0, before = 0;
  for (auto& one : row.members) {
    write("INSERT INTO batch_sample VALUES(?,?,?,?,?)",
          {row.step, position++, one.item, one.index, name_of(one.kind)});
    if (one.kind == item_kind::example)
      continue;
    if (one.item != before)
      write("INSERT INTO batch_item VALUES(?,?)", {one.item, row.step});
    before = one.item;
    write("UPDATE sample SET step=? WHERE item=? AND idx=?",
          {row.step, one.item, one.index});
  }
}

void sqlite_journal::put(const stage_row& row) {
  write("INSERT OR REPLACE INTO stage VALUES(?,?,?,?,?)",
        {row.index, row.name, row.version, row.over, row.cut});
}

void sqlite_journal::put(const checkpoint_row& row) {
  write("INSERT OR REPLACE INTO checkpoint VALUES(?,?)", {row.step, row.hash});
}

void sqlite_journal::put(const judgement& row, double wall_s) {
  sqlite::value weights = nullptr;
  if (!row.weights.empty())
    weights = std::as_bytes(std::span{row.weights});
  write("UPDATE sample SET mean_abs=?, mean_signed=?, floor=?, staleness=?, "
        "kept=?, weights=?, trained=? WHERE item=? AND idx=? AND kept IS NULL",
        {row.mean_abs, row.mean_signed, row.floor, row.staleness, row.kept,
         weights, wall_s, row.item, row.index});
}

void sqlite_journal::put(const drift_report& row) {
  write("INSERT OR IGNORE INTO drift VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        {row.step, row.mean_abs_p50, row.mean_abs_p90, row.mean_abs_max,
         row.mean_signed_p50, row.floor, row.staleness_mean, row.staleness_max,
         row.samples, row.masked_positive, row.masked_negative, row.masked_zero,
         row.delta, row.tokens, row.masked_tokens, row.capped_tokens});
}

void sqlite_journal::put(const step_report& row) {
  write("UPDATE batch SET loss=?, grad_norm=?, lr=?, clip_fraction=?, "
        "entropy=?, mean_return=?, mean_abs_log_ratio=?, tokens=?, samples=?, "
        "kept=?, stepped=?, wait_s=?, train_s=?, publish_s=? WHERE step=?",
        {row.loss, row.grad_norm, row.lr, row.clip_fraction, row.entropy,
         row.mean_return, row.mean_abs_log_ratio, row.tokens, row.samples,
         row.kept, row.stepped, row.wait_s, row.train_s, row.publish_s,
         row.step});
}

void sqlite_journal::put_epoch(uint64_t epoch, const owner& learner) {
  write("INSERT INTO epoch VALUES(?,?,?,?)",
        {epoch, learner.node, learner.incarnation, learner.actor});
}

void sqlite_journal::put_meta(const std::string& key,
                              const std::string& value) {
  write("INSERT OR REPLACE INTO meta VALUES(?,?)", {key, value});
}

void sqlite_journal::drop_payloads_of(uint64_t item) {
  write("UPDATE sample SET payload=NULL WHERE item=? AND payload IS NOT NULL",
        {item});
}

void sqlite_journal::drop_payloads_through(uint64_t step) {
  write("UPDATE sample SET payload=NULL, weights=NULL "
        "WHERE step<=? AND payload IS NOT NULL",
        {step});
}

void sqlite_journal::drop_payloads_of_stage(uint32_t stage) {
  write("UPDATE sample SET payload=NULL WHERE payload IS NOT NULL AND item IN "
        "(SELECT id FROM item WHERE stage=?)",
        {stage});
}

} // namespace swage
