#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace swage {

/// A named figure of one step.
struct scalar {
  std::string_view tag; ///< Such as "staleness/mean".
  double value = 0;
};

/// Writes the event file that TensorBoard reads: TFRecords of `Event`
/// messages with scalar summaries. Each `write` is flushed. Not thread-safe.
class event_file {
public:
  /// Creates a new file in `folder` (created if missing), named after the
  /// time, so that a resumed run adds one and TensorBoard joins them.
  static result<event_file> create(const std::filesystem::path& folder,
                                   double wall_time);

  /// One event with all of `scalars`. Values that are not finite are written
  /// as they are; TensorBoard shows them as gaps.
  result<void> write(uint64_t step, double wall_time,
                     std::span<const scalar> scalars);

  const std::filesystem::path& path() const { return path_; }

private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  result<void> append(std::string_view event);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, closer> file_;
};

/// CRC-32C (Castagnoli), and as TFRecords store it: rotated, plus a constant.
uint32_t crc32c(std::span<const std::byte> bytes);
uint32_t masked_crc32c(std::span<const std::byte> bytes);

} // namespace swage
