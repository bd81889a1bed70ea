#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace swage {

/// The folder of one run: `config.toml` (as resolved), `run.db`,
/// `checkpoints/`, `metrics/`, `log/`. Held by one parent process at a time.
class run_folder {
public:
  /// Creates or opens the folder for a head node, and writes the resolved
  /// configuration. An existing run is refused without `resume`, a missing one
  /// with it; so is a configuration in which a knob differs that cannot change.
  /// `notes` gets a line for each one that differs and can.
  static result<run_folder> open(std::filesystem::path path,
                                 const config& settings, bool resume,
                                 std::vector<std::string>& notes);

  /// The folder of a node that is not the head: nothing but logs and its copy
  /// of the configuration.
  static result<run_folder> join(std::filesystem::path path,
                                 const config& settings,
                                 const std::string& node);

  run_folder(run_folder&& other) noexcept;
  run_folder& operator=(run_folder&&) = delete;
  ~run_folder();

  const std::filesystem::path& path() const { return path_; }

  /// The resolved configuration that its processes read.
  const std::filesystem::path& config_file() const { return config_file_; }

private:
  explicit run_folder(std::filesystem::path path);

  result<void> lock(const std::string& name);
  result<void> write_config(const config& settings);

  std::filesystem::path path_, config_file_;
  int lock_ = -1;
};

/// Fails unless `path` holds a run to be resumed, or none where one begins.
result<void> check_start(const std::filesystem::path& path, bool resume);

/// Whether a process holds the run in `path` at this moment.
bool is_running(const std::filesystem::path& path);

/// Fails unless `path` is a folder with a run in it; says what it lacks.
result<void> check_is_run(const std::filesystem::path& path);

} // namespace swage
