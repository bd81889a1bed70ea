#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace swage {

constexpr size_t max_source_bytes = size_t{16} << 20;

/// The content of a file that a person named, without a byte order mark;
/// `what` says in the error what was looked for. Anything but a regular file is
/// refused before it is opened: a pipe that nobody writes to never ends.
/// Fails with `not_found` or `invalid_argument`.
result<std::string> read_text_file(const std::filesystem::path& file,
                                   std::string_view what,
                                   size_t max_bytes = max_source_bytes);

void drop_byte_order_mark(std::string& text);

/// The bytes of the UTF-8 character at `i`, or 0 if there is none: overlong
/// forms and surrogates are none, since JSON refuses them.
size_t utf8_character(std::string_view text, size_t i);

} // namespace swage
