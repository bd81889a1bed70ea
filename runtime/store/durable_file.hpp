#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace swage {

/// The whole file, or `ec::not_found` / `ec::io` with its path.
result<std::string> read_file(const std::filesystem::path& file);

/// Writes a file so that it survives a power cut: temporary name, fsync,
/// rename, fsync of the folder.
result<void> write_durably(const std::filesystem::path& file,
                           std::string_view content);

/// Flushes a file or a folder to the disk.
result<void> sync_path(const std::filesystem::path& path);

/// XXH3-64 of a file's content.
result<uint64_t> file_checksum(const std::filesystem::path& file);

} // namespace swage
