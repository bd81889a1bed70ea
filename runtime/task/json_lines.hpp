#pragma once

#include "runtime/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace swage {

/// What is read of a file with one JSON object a line.
struct json_lines {
  std::string_view what;   ///< What a person should have named.
  std::string_view fields; ///< What an object has to have, for an error.
  size_t max_bytes = size_t{1} << 30;
};

/// Takes an object and the number of its line.
using row_taker
  = std::function<result<void>(size_t line, const nlohmann::json&)>;

/// Hands each object of `file` to `take`; lines of blanks are left out. Fails
/// with `invalid_argument` or `not_found`, naming file and line, also of what
/// `take` says.
result<void> read_json_lines(const std::filesystem::path& file,
                             const json_lines& how, const row_taker& take);

/// The same of a text that was read from `file` already.
result<void> parse_json_lines(std::string text,
                              const std::filesystem::path& file,
                              const json_lines& how, const row_taker& take);

/// The ids of a file's objects, each of which may occur once.
class distinct_ids {
public:
  /// Fails with `invalid_argument`, naming the line that had it first.
  result<void> add(const std::string& id, size_t line);

private:
  std::map<std::string, size_t> lines_;
};

/// A field that has to be there and a string, else `invalid_argument`.
result<std::string> text_field(const nlohmann::json& row, const char* key);

} // namespace swage
