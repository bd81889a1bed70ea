#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/rejection.hpp"

#include <tl/expected.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace swage {

/// What compiling came to: a shared object's bytes, or a refusal.
using built = tl::expected<std::string, rejection>;

/// Artifacts and refusals on disk by key, for any number of processes at once.
/// Each entry is one file, written beside its place and renamed into it, so
/// that a reader sees all of it or nothing and a killed writer leaves no lock;
/// a checksum tells what a crash of the machine tore. Thread-safe.
class build_cache {
public:
  /// Opens or makes the folder.
  static result<build_cache> open(const std::filesystem::path& folder,
                                  uint64_t max_bytes);

  build_cache(build_cache&& other) noexcept;

  /// The entry, or nothing (also if it is damaged, which removes it).
  std::optional<built> find(const std::string& key) const;

  /// Keeps an entry. A failure to write is not an error: it is built again.
  void keep(const std::string& key, const built& entry);

  /// Removes the entries used longest ago until four fifths of the limit are
  /// left, and what killed writers left. One process at a time; others skip.
  void sweep();

private:
  build_cache(std::filesystem::path folder, uint64_t max_bytes);

  std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
  uint64_t max_bytes_;
  std::atomic<uint64_t> kept_{0};
};

} // namespace swage
