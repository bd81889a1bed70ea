#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// What a checkpoint says of itself, in its `manifest.json`.
struct checkpoint_info {
  uint64_t step = 0;       ///< The version that it holds.
  uint64_t hash = 0;       ///< h_step of the batches that it was trained on.
  std::string stage;       ///< Name of the stage of its last batch.
  std::filesystem::path directory; ///< Not stored.
};

/// The step of a checkpoint's directory, which has it in its name.
uint64_t step_of(const std::filesystem::path& checkpoint);

/// The checkpoints of one run: `ROOT/v000123/`. A checkpoint exists whole or
/// not at all: it is filled in a temporary directory, synced, given a manifest
/// with every file's size and checksum, and renamed.
class checkpoint_store {
public:
  using fill_function = std::function<result<void>(const std::filesystem::path&)>;

  /// Keeps the newest `keep_last` checkpoints, at least 1, and the last one
  /// before each stage of another kind.
  checkpoint_store(std::filesystem::path root, uint32_t keep_last);

  /// Writes a checkpoint; `fill` puts the files into the directory that it is
  /// given. An existing checkpoint of the same step is replaced.
  result<checkpoint_info> write(checkpoint_info info,
                                const fill_function& fill);

  /// The newest checkpoint whose files match its manifest. `rejected` gets a
  /// line for each one that was passed over.
  std::optional<checkpoint_info>
  newest_valid(std::vector<std::string>* rejected = nullptr,
               std::span<const std::string_view> wanted = {}) const;

  /// Checks one checkpoint's files against its manifest, or those of `wanted`
  /// that it names: who only samples needs no optimizer.
  static result<checkpoint_info>
  open(const std::filesystem::path& directory,
       std::span<const std::string_view> wanted = {});

  /// Whether it has a manifest; a model from elsewhere has none.
  static bool is_checkpoint(const std::filesystem::path& directory);

  /// Removes what an earlier process left half written or half removed when it
  /// was killed. Only for the one process that writes here.
  void remove_torn() const;

  /// Directories by step, ascending; not checked.
  std::vector<std::filesystem::path> list() const;

private:
  void remove_old() const;

  std::filesystem::path root_;
  uint32_t keep_last_;
};

} // namespace swage
