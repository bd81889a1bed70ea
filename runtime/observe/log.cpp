#include "runtime/observe/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace swage {

namespace {

constexpr const char* names[] = {"debug", "info", "notice", "warning",
                                 "error"};

struct file_closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct log_state {
  std::mutex lock;
  log_options options;
  std::unique_ptr<std::FILE, file_closer> file;
  bool line_open = false; ///< Progress left the cursor inside a line.
};

/// Never destroyed: a thread that outlives main may still log.
log_state& state() {
  static auto* only = new log_state;
  return *only;
}

void write(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

/// "2026-01-31T12:00:00.123Z".
std::string utc_now() {
  using namespace std::chrono;
  auto now = system_clock::now();
  auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(system_clock::to_time_t(now)), ms);
}

} // namespace

result<void> start_log(const log_options& options) {
  auto& log = state();
  std::lock_guard guard{log.lock};
  log.options = options;
  log.file.reset();
  if (options.file.empty())
    return {};
  std::error_code failed;
  std::filesystem::create_directories(options.file.parent_path(), failed);
  log.file.reset(std::fopen(options.file.c_str(), "ae"));
  if (!log.file)
    return fail(ec::io, fmt::format("cannot write the log {}: {}",
                                    options.file.string(),
                                    std::generic_category().message(errno)));
  return {};
}

void log(log_level level, std::string_view text) {
  auto* name = names[static_cast<size_t>(level)];
  auto& log = state();
  std::lock_guard guard{log.lock};
  if (log.file && level >= log.options.file_level)
    write(log.file.get(), fmt::format("{} {} {}\n", utc_now(), name, text));
  if (level < log.options.stderr_level)
    return;
  auto node = log.options.node.empty() ? "" : log.options.node + ": ";
  auto newline = std::exchange(log.line_open, false) ? "\n" : "";
  auto kind = level == log_level::notice ? "" : fmt::format("{}: ", name);
  write(stderr, fmt::format("{}{}{}{}\n", newline, node, kind, text));
}

void write_stderr(std::string_view text, bool open) {
  if (text.empty())
    return;
  auto& log = state();
  std::lock_guard guard{log.lock};
  log.line_open = open;
  write(stderr, text);
}

} // namespace swage
