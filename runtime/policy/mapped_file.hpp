#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace swage {

/// A file's bytes, mapped read-only for as long as it lives.
class mapped_file {
public:
  static result<std::shared_ptr<const mapped_file>>
  open(const std::filesystem::path& path);

  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  std::span<const std::byte> bytes() const { return bytes_; }

private:
  explicit mapped_file(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

/// The whole of a (small) file as text.
result<std::string> read_text(const std::filesystem::path& path);

/// Writes a file that appears under `path` whole or not at all: temporary
/// file in the same folder, fsync, rename, fsync of the folder.
result<void> write_whole(const std::filesystem::path& path,
                         std::span<const std::span<const std::byte>> parts);

} // namespace swage
