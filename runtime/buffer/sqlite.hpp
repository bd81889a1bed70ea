#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

struct sqlite3;
struct sqlite3_stmt;

namespace swage::sqlite {

/// One argument of a statement. Text and bytes are borrowed.
class value {
public:
  value(std::nullptr_t) : what(nullptr) {}
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T> value(T x)
    : what(static_cast<int64_t>(x)) {}
  value(double x) : what(x) {}
  value(std::string_view x) : what(x) {}
  value(const std::string& x) : what(std::string_view(x)) {}
  value(const char* x) : what(std::string_view(x)) {}
  value(std::span<const std::byte> x) : what(x) {}

  std::variant<std::nullptr_t, int64_t, double, std::string_view,
               std::span<const std::byte>>
    what;
};

/// The present row of a query, by column from 0.
class row {
public:
  explicit row(sqlite3_stmt* from) : from_(from) {}
  int64_t integer(int column) const;
  uint64_t number(int column) const {
    return static_cast<uint64_t>(integer(column));
  }
  double real(int column) const;
  std::string text(int column) const;
  /// Valid until the next row.
  std::span<const std::byte> bytes(int column) const;
  bool null(int column) const;

private:
  sqlite3_stmt* from_;
};

enum class access : uint8_t { read, write };

/// A connection. Statements are prepared once. Not thread-safe. Errors:
/// `journal_full` (disk full, quota), `corrupt`, else `io`; messages name the
/// file.
class database {
public:
  static result<database> open(const std::filesystem::path& path, access how);

  result<void> run(const char* sql, std::initializer_list<value> with = {});
  result<void> query(const char* sql, std::initializer_list<value> with,
                     const std::function<void(const row&)>& each);
  /// Several statements in one text, without arguments.
  result<void> script(const char* sql);

private:
  struct closer {
    void operator()(sqlite3* what) const;
  };
  struct finalizer {
    void operator()(sqlite3_stmt* what) const;
  };

  result<sqlite3_stmt*> prepare(const char* sql,
                                std::initializer_list<value> with);
  tl::unexpected<error> failed() const;

  std::string path_;
  std::unique_ptr<sqlite3, closer> db_;
  // Statements must go before the connection, hence after it here.
  std::map<std::string, std::unique_ptr<sqlite3_stmt, finalizer>, std::less<>>
    statements_;
};

/// Runs one query after another; the first error stays.
class queries {
public:
  explicit queries(database& db) : db_(db) {}

  template <class Each>
  void operator()(const char* sql, Each each) {
    if (ok)
      ok = db_.query(sql, {}, each);
  }

  result<void> ok;

private:
  database& db_;
};

} // namespace swage::sqlite
