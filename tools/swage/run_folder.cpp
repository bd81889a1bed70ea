#include "tools/swage/run_folder.hpp"

#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace swage {

namespace fs = std::filesystem;

namespace {

/// A path that cannot be is the user's; a full disk is the system's.
ec code_of(int number) {
  for (int wrong : {ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, EACCES, EPERM, EROFS})
    if (number == wrong)
      return ec::invalid_argument;
  return ec::io;
}

tl::unexpected<error> io_error(std::string_view what, const fs::path& path) {
  return fail(code_of(errno),
              fmt::format("cannot {} {}: {}", what, path.string(),
                          std::generic_category().message(errno)));
}

/// Writes a file whole: beside its place, synced, then renamed. One process at
/// a time does (the lock), so what a killed one left there is written over.
result<void> replace_file(const fs::path& path, const std::string& text) {
  auto beside = path;
  beside += ".new";
  int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0644);
  if (file < 0)
    return io_error("write", beside);
  bool written = ::write(file, text.data(), text.size())
                   == static_cast<ssize_t>(text.size())
                 && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::rename(beside.c_str(), path.c_str()) != 0)
    return io_error("write", path);
  return {};
}

/// What `settings` may not and may change of a run's own configuration.
result<void> compare(const fs::path& file, const config& settings,
                     std::vector<std::string>& notes) {
  auto before = load_config(file);
  if (!before)
    return tl::unexpected{before.error()};
  for (auto& [path, old_value, value, fixed] :
       config_differences(*before, settings)) {
    if (fixed)
      return fail(ec::invalid_config,
                  fmt::format("{} = {} differs from the run's own {} and "
                              "cannot change when it is resumed; resume with "
                              "{} as the configuration, or start another run",
                              path, value, old_value, file.string()));
    notes.push_back(
      fmt::format("{} was {} and is {} from here on", path, old_value, value));
  }
  return {};
}

fs::path head_lock(const fs::path& run) {
  return run / "log" / "head.lock";
}

result<void> check_record(const fs::path& file) {
  std::error_code failed;
  if (fs::is_regular_file(file, failed))
    return {};
  return fail(ec::invalid_argument,
              fmt::format("{}: expected a file, the record of a run; found "
                          "something else",
                          file.string()));
}

} // namespace

run_folder::run_folder(fs::path path) : path_{std::move(path)} {}

run_folder::run_folder(run_folder&& other) noexcept
  : path_{std::move(other.path_)}, config_file_{std::move(other.config_file_)},
    lock_{std::exchange(other.lock_, -1)} {}

run_folder::~run_folder() {
  if (lock_ >= 0)
    ::close(lock_);
}

result<run_folder> run_folder::open(fs::path path, const config& settings,
                                    bool resume,
                                    std::vector<std::string>& notes) {
  run_folder made{fs::absolute(path).lexically_normal()};
  if (auto ok = check_start(made.path_, resume); !ok)
    return tl::unexpected{ok.error()};
  if (auto ok = made.lock("head"); !ok)
    return tl::unexpected{ok.error()};
  made.config_file_ = made.path_ / "config.toml";
  std::error_code failed;
  if (resume && fs::exists(made.config_file_, failed))
    if (auto ok = compare(made.config_file_, settings, notes); !ok)
      return tl::unexpected{ok.error()};
  if (auto ok = made.write_config(settings); !ok)
    return tl::unexpected{ok.error()};
  return made;
}

result<run_folder> run_folder::join(fs::path path, const config& settings,
                                    const std::string& node) {
  run_folder made{fs::absolute(path).lexically_normal()};
  if (auto ok = made.lock(node); !ok)
    return tl::unexpected{ok.error()};
  made.config_file_ = made.path_ / "log" / (node + ".toml");
  if (auto ok = made.write_config(settings); !ok)
    return tl::unexpected{ok.error()};
  return made;
}

result<void> run_folder::lock(const std::string& name) {
  auto file = path_ / "log" / (name + ".lock");
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) {
    errno = failed.value();
    return io_error("make the folder", file.parent_path());
  }
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0)
    return io_error("write", file);
  // Whoever asks whether the run is running holds it for a moment.
  for (int tries = 0; ::flock(lock_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == 3)
      return fail(ec::invalid_argument,
                  fmt::format("node {} of the run in {} is running already",
                              name, path_.string()));
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return {};
}

result<void> run_folder::write_config(const config& settings) {
  return replace_file(config_file_, config_text(settings));
}

result<void> check_start(const fs::path& path, bool resume) {
  auto record = path / "run.db";
  std::error_code failed;
  bool exists = fs::exists(record, failed);
  if (exists && !resume)
    return fail(ec::invalid_argument,
                fmt::format("{} holds a run already; continue it with "
                            "--resume, or choose another folder with --out",
                            path.string()));
  if (resume && !exists)
    return fail(ec::invalid_argument,
                fmt::format("--resume: expected the run's folder at {}, found "
                            "no run.db in it; leave --resume out to begin a "
                            "run there",
                            path.string()));
  return resume ? check_record(record) : result<void>{};
}

bool is_running(const fs::path& path) {
  int file = ::open(head_lock(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0;
  ::close(file);
  return held;
}

result<void> check_is_run(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed))
    return fail(ec::not_found,
                fmt::format("{} is not a folder", path.string()));
  for (auto* name : {"config.toml", "run.db"})
    if (!fs::exists(path / name, failed))
      return fail(ec::not_found,
                  fmt::format("{} is not the folder of a run: it has no {}",
                              path.string(), name));
  return check_record(path / "run.db");
}

} // namespace swage
