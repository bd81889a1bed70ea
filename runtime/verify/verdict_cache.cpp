#include "runtime/verify/verdict_cache.hpp"

#include "runtime/verify/content.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <map>
#include <system_error>
#include <unordered_map>

namespace swage {

namespace {

/// Raised when other code than Python's gives another verdict for a key.
constexpr int protocol = 5;

constexpr size_t max_in_memory = 20'000;

double number(const nlohmann::json& json, const char* key) {
  const auto& value = json.at(key);
  return value.is_number() ? value.get<double>()
                           : std::numeric_limits<double>::quiet_NaN();
}

nlohmann::json to_json(const verdict& x) {
  const auto& t = x.times;
  return {{"compiled", x.compiled},
          {"correct", x.correct},
          {"legal", x.legal},
          {"speedup", x.speedup},
          {"category", to_string(x.kind)},
          {"detail", x.detail},
          {"pass_fraction", x.pass_fraction},
          {"times",
           {{"build_s", t.build_s},
            {"run_s", t.run_s},
            {"measure_s", t.measure_s},
            {"reference_s", t.reference_s},
            {"candidate_s", t.candidate_s},
            {"speedup_low", t.speedup_low},
            {"speedup_high", t.speedup_high}}}};
}

std::optional<verdict> from_json(std::string_view text) try {
  auto json = nlohmann::json::parse(text);
  verdict x;
  x.compiled = json.at("compiled");
  x.correct = json.at("correct");
  x.legal = json.at("legal");
  x.speedup = number(json, "speedup");
  x.detail = json.at("detail");
  x.pass_fraction = number(json, "pass_fraction");
  if (!from_string(json.at("category").get<std::string>(), x.kind))
    return std::nullopt;
  const auto& t = json.at("times");
  x.times = {number(t, "build_s"),     number(t, "run_s"),
             number(t, "measure_s"),   number(t, "reference_s"),
             number(t, "candidate_s"), number(t, "speedup_low"),
             number(t, "speedup_high")};
  x.cached = true;
  return x;
} catch (const nlohmann::json::exception&) {
  return std::nullopt; // Of another version, or torn: as if it were missing.
}

struct close_database {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};

struct finalize_statement {
  void operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
  }
};

using database = std::unique_ptr<sqlite3, close_database>;
using statement = std::unique_ptr<sqlite3_stmt, finalize_statement>;

constexpr const char* schema =
  "PRAGMA journal_mode = WAL;"
  "PRAGMA synchronous = OFF;" // It is a cache: a torn one is made anew.
  "CREATE TABLE IF NOT EXISTS verdict(key TEXT PRIMARY KEY, body TEXT)";

statement prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* made = nullptr;
  sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  return statement{made};
}

// Not `bind`: for a temporary string std::bind would be the better match.
void bind_text(sqlite3_stmt* to, int index, const std::string& text) {
  sqlite3_bind_text(to, index, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

} // namespace

struct verdict_cache::impl {
  database db;
  statement select, insert, prune;
  std::unordered_map<std::string, verdict> memory;
  uint32_t stored = 0;

  void remember(const std::string& key, const verdict& outcome) {
    if (memory.size() >= max_in_memory)
      memory.clear();
    memory.insert_or_assign(key, outcome);
  }
};

verdict_cache::verdict_cache(std::unique_ptr<impl> self)
  : impl_{std::move(self)} {
}

verdict_cache::~verdict_cache() = default;

result<std::unique_ptr<verdict_cache>>
verdict_cache::open(const std::filesystem::path& folder) {
  auto self = std::make_unique<impl>();
  if (!folder.empty()) {
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    auto path = folder / "verdicts.db";
    sqlite3* db = nullptr;
    auto status = sqlite3_open(path.c_str(), &db);
    self->db.reset(db);
    if (status == SQLITE_OK) {
      sqlite3_busy_timeout(db, 2000);
      status = sqlite3_exec(db, schema, nullptr, nullptr, nullptr);
    }
    if (status != SQLITE_OK)
      return fail(ec::io,
                  fmt::format("verdict cache '{}': {}. Remove the file, or name "
                              "another cache folder.",
                              path.string(), sqlite3_errmsg(db)));
    self->select = prepare(db, "SELECT body FROM verdict WHERE key = ?1");
    self->insert = prepare(
      db, "INSERT OR REPLACE INTO verdict(key, body) VALUES (?1, ?2)");
    self->prune = prepare(db, "DELETE FROM verdict WHERE rowid <= "
                              "(SELECT max(rowid) FROM verdict) - ?1");
  }
  return std::unique_ptr<verdict_cache>{new verdict_cache{std::move(self)}};
}

std::optional<verdict> verdict_cache::find(const std::string& key) {
  if (auto i = impl_->memory.find(key); i != impl_->memory.end())
    return i->second;
  auto* query = impl_->select.get();
  if (!query)
    return std::nullopt;
  bind_text(query, 1, key);
  std::optional<verdict> found;
  if (sqlite3_step(query) == SQLITE_ROW) {
    auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query, 0));
    auto size = static_cast<size_t>(sqlite3_column_bytes(query, 0));
    if (text)
      found = from_json({text, size});
  }
  sqlite3_reset(query);
  if (found)
    impl_->remember(key, *found);
  return found;
}

void verdict_cache::store(const std::string& key, const verdict& outcome) {
  if (!is_lasting(outcome.kind))
    return;
  auto kept = outcome;
  kept.cached = true;
  impl_->remember(key, kept);
  auto* insert = impl_->insert.get();
  if (!insert)
    return;
  using nlohmann::json;
  bind_text(insert, 1, key);
  bind_text(insert, 2,
       to_json(outcome).dump(-1, ' ', false, json::error_handler_t::replace));
  sqlite3_step(insert);
  sqlite3_reset(insert);
  if (++impl_->stored % 1024 != 0)
    return;
  auto* prune = impl_->prune.get();
  sqlite3_bind_int64(prune, 1, max_rows);
  sqlite3_step(prune);
  sqlite3_reset(prune);
}

std::string verdict_key(const task& what, std::string_view code,
                        const verdict_setting& setting) {
  const auto& e = what.eval;
  // Lengths keep neighbours apart: ("ab", "c") is not ("a", "bc").
  auto text = fmt::format(
    "{} {} {} {} {} {} {} {} {} {} {} {} {} {}\n{} {} {} {} {} {}\n", protocol,
    to_string(what.on), to_string(what.as), e.trials, e.stress, e.rtol, e.atol,
    e.excessive_speedup, e.threads, e.build_timeout_s, e.run_timeout_s,
    e.measure, e.timing_pairs, what.reference.size(), code.size(),
    setting.toolchain.size(), setting.prompt.size(), setting.machine.size(),
    setting.scripts.size(), setting.torch.size());
  text.append(what.reference).append(code).append(setting.toolchain);
  text.append(setting.prompt).append(setting.machine);
  text.append(setting.scripts).append(setting.torch);
  return content_hash(text);
}

std::string scripts_hash(const std::filesystem::path& folder) {
  std::map<std::string, std::string> scripts;
  std::error_code failed;
  for (auto& entry : std::filesystem::directory_iterator{folder, failed})
    if (entry.path().extension() == ".py")
      scripts[entry.path().filename()] = content_of(entry.path());
  std::string text;
  for (auto& [name, content] : scripts)
    text += fmt::format("{} {}\n{}", name, content.size(), content);
  return content_hash(text);
}

} // namespace swage
