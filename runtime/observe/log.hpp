#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace swage {

/// A notice is nothing wrong, and yet for the console: what a person waits for.
enum class log_level : uint8_t { debug, info, notice, warning, error };

/// Where lines go; everything of `level` and above. Thread-safe, as `log`.
struct log_options {
  std::string node;           ///< Begins each line on stderr if not empty.
  std::filesystem::path file; ///< Appended to; empty: none.
  log_level stderr_level = log_level::notice;
  log_level file_level = log_level::info;
};

/// Opens the file (and its folder). Until then, lines go to stderr only.
result<void> start_log(const log_options& options);

/// Writes one line: to stderr as "warning: text" (a notice without its level),
/// to the file with UTC time, level and text. Whoever decides an error logs it,
/// once.
void log(log_level level, std::string_view text);

inline void log_debug(std::string_view text) {
  log(log_level::debug, text);
}
inline void log_info(std::string_view text) {
  log(log_level::info, text);
}
inline void log_notice(std::string_view text) {
  log(log_level::notice, text);
}
inline void log_warning(std::string_view text) {
  log(log_level::warning, text);
}
inline void log_error(std::string_view text) {
  log(log_level::error, text);
}

/// Writes `text` to stderr as it is, between two lines of the log: progress.
/// `open` says that the text leaves the cursor in a rewritten line; the next
/// line of the log then starts on a line of its own.
void write_stderr(std::string_view text, bool open = false);

} // namespace swage
