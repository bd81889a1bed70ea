#include "runtime/buffer/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

namespace swage::sqlite {

namespace {

/// Binds one argument; `where` counts from 1.
struct binder {
  sqlite3_stmt* to;
  int where;

  int operator()(std::nullptr_t) const { return sqlite3_bind_null(to, where); }
  int operator()(int64_t x) const { return sqlite3_bind_int64(to, where, x); }
  int operator()(double x) const { return sqlite3_bind_double(to, where, x); }
  int operator()(std::string_view x) const {
    return sqlite3_bind_text64(to, where, x.data() ? x.data() : "", x.size(),
                               SQLITE_STATIC, SQLITE_UTF8);
  }
  int operator()(std::span<const std::byte> x) const {
    return sqlite3_bind_blob64(to, where, x.data(), x.size(), SQLITE_STATIC);
  }
};

ec code_of(int status) {
  switch (status & 0xff) {
  case SQLITE_FULL:
    return ec::journal_full;
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return ec::corrupt;
  default:
    return ec::io;
  }
}

} // namespace

int64_t row::integer(int column) const {
  return sqlite3_column_int64(from_, column);
}

double row::real(int column) const {
  return sqlite3_column_double(from_, column);
}

std::string row::text(int column) const {
  auto* data = sqlite3_column_text(from_, column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(from_, column));
  return data ? std::string(reinterpret_cast<const char*>(data), size) : "";
}

std::span<const std::byte> row::bytes(int column) const {
  auto* data = sqlite3_column_blob(from_, column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(from_, column));
  return {static_cast<const std::byte*>(data), data ? size : 0};
}

bool row::null(int column) const {
  return sqlite3_column_type(from_, column) == SQLITE_NULL;
}

void database::closer::operator()(sqlite3* what) const {
  sqlite3_close_v2(what);
}

void database::finalizer::operator()(sqlite3_stmt* what) const {
  sqlite3_finalize(what);
}

result<database> database::open(const std::filesystem::path& path, access how) {
  database out;
  out.path_ = path.string();
  sqlite3* raw = nullptr;
  int flags = how == access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                   : SQLITE_OPEN_READONLY;
  int status = sqlite3_open_v2(out.path_.c_str(), &raw, flags, nullptr);
  out.db_.reset(raw);
  if (status != SQLITE_OK)
    return out.failed();
  sqlite3_extended_result_codes(raw, 1);
  // A reader's checkpoint or an fsync elsewhere may hold the lock for a moment.
  sqlite3_busy_timeout(raw, 5000);
  return out;
}

tl::unexpected<error> database::failed() const {
  auto status = db_ ? sqlite3_extended_errcode(db_.get()) : SQLITE_NOMEM;
  auto* text = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
  return fail(code_of(status),
              fmt::format("{}: {} (SQLite code {})", path_, text, status));
}

result<sqlite3_stmt*> database::prepare(const char* sql,
                                        std::initializer_list<value> with) {
  auto found = statements_.find(std::string_view(sql));
  if (found == statements_.end()) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw,
                           nullptr)
        != SQLITE_OK)
      return failed();
    found = statements_.emplace(sql, raw).first;
  }
  auto* statement = found->second.get();
  int where = 0;
  for (auto& one : with)
    if (std::visit(binder{statement, ++where}, one.what) != SQLITE_OK)
      return failed();
  return statement;
}

result<void> database::run(const char* sql, std::initializer_list<value> with) {
  return query(sql, with, [](const row&) {});
}

result<void> database::query(const char* sql, std::initializer_list<value> with,
                             const std::function<void(const row&)>& each) {
  auto statement = prepare(sql, with);
  if (!statement)
    return tl::unexpected(statement.error());
  result<void> out;
  for (;;) {
    int status = sqlite3_step(*statement);
    if (status == SQLITE_ROW) {
      each(row(*statement));
      continue;
    }
    if (status != SQLITE_DONE)
      out = failed();
    break;
  }
  sqlite3_reset(*statement);
  sqlite3_clear_bindings(*statement);
  return out;
}

result<void> database::script(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return failed();
  return {};
}

} // namespace swage::sqlite
