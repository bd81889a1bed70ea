#pragma once

#include <string>
#include <string_view>

namespace swage {

/// `text` with each ill-formed part replaced by U+FFFD, one for each maximal
/// part that could have begun a character, as Unicode recommends and as
/// Python's and Rust's lossy decoders do.
std::string repaired_utf8(std::string_view text);

/// Whether `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

} // namespace swage
