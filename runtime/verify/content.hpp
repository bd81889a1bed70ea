#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace swage {

/// A file's bytes; empty if it cannot be read.
std::string content_of(const std::filesystem::path& file);

/// Names a text by what is in it: 32 hexadecimal digits.
std::string content_hash(std::string_view text);

} // namespace swage
