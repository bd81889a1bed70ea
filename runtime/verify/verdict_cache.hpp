#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/verdict.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace swage {

/// What else than task and code a verdict depends on.
struct verdict_setting {
  std::string toolchain; ///< As `builder::toolchain` prints it.
  std::string prompt;    ///< Hash of the prompts; empty if there are none.
  std::string machine;   ///< Processor that speed depends on.
  std::string scripts;   ///< `scripts_hash` of the judge and the measurer.
  std::string torch;     ///< Version of what they compare and time with.
};

/// Name of a verdict: 32 hexadecimal digits over the task's source, target,
/// form and evaluation, the extracted code, and the setting.
std::string verdict_key(const task& what, std::string_view code,
                        const verdict_setting& setting);

/// Hash of the Python files in a folder.
std::string scripts_hash(const std::filesystem::path& folder);

/// Verdicts that were given before, in memory and in one file that engines of
/// several processes share. Holds what `is_lasting` only. One thread at a time.
class verdict_cache {
public:
  static constexpr int64_t max_rows = 200'000;

  /// Opens `folder`/verdicts.db, made if missing; an empty folder keeps
  /// verdicts in memory only.
  static result<std::unique_ptr<verdict_cache>>
  open(const std::filesystem::path& folder);

  ~verdict_cache();

  /// The stored verdict with `cached` set.
  std::optional<verdict> find(const std::string& key);

  /// Ignored if the verdict is not final. A full disk loses the entry only.
  void store(const std::string& key, const verdict& outcome);

private:
  struct impl;
  explicit verdict_cache(std::unique_ptr<impl> self);
  std::unique_ptr<impl> impl_;
};

} // namespace swage
