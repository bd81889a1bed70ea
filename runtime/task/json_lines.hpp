#pragma once

#include "runtime/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace swage {

/// What is read of a file with one JSON object a line.
struct json_lines {
  std::string_view what;   ///< What a person should have named.
  std::string_view fields; ///< What an object has to have, for an error.
  size_t max_bytes = size_t{1} << 30;
};

/// Hands each object of `file`, with its line, to `take`; lines of blanks are left out. Fails
/// with `invalid_argument` or `not_found`, naming file and line, also of what
/// `take` says.
result<void> read_json_lines(
  const std::filesystem::path& file, const json_lines& how,
  const std::function<result<void>(size_t line, const nlohmann::json&)>& take);

/// A field that has to be there and a string, else `invalid_argument`.
result<std::string> text_field(const nlohmann::json& row, const char* key);

} // namespace swage
