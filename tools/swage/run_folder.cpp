#include "tools/swage/run_folder.hpp"

#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace swage {

namespace fs = std::filesystem;

namespace {

tl::unexpected<error> io_error(std::string_view what, const fs::path& path) {
  return fail(ec::io, fmt::format("cannot {} {}: {}", what, path.string(),
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
  std::error_code failed;
  bool exists = fs::exists(made.path_ / "run.db", failed);
  if (exists && !resume)
    return fail(ec::invalid_argument,
                fmt::format("{} holds a run already; continue it with "
                            "--resume, or choose another folder with --out",
                            made.path_.string()));
  if (resume && !exists)
    notes.push_back(fmt::format("nothing to resume in {}: a new run starts",
                                made.path_.string()));
  fs::create_directories(made.path_ / "log", failed);
  if (auto ok = made.lock("head"); !ok)
    return tl::unexpected{ok.error()};
  made.config_file_ = made.path_ / "config.toml";
  if (exists && fs::exists(made.config_file_, failed))
    if (auto ok = compare(made.config_file_, settings, notes); !ok)
      return tl::unexpected{ok.error()};
  if (auto ok = made.write_config(settings); !ok)
    return tl::unexpected{ok.error()};
  return made;
}

result<run_folder> run_folder::join(fs::path path, const config& settings,
                                    const std::string& node) {
  run_folder made{fs::absolute(path).lexically_normal()};
  std::error_code failed;
  fs::create_directories(made.path_ / "log", failed);
  if (auto ok = made.lock(node); !ok)
    return tl::unexpected{ok.error()};
  made.config_file_ = made.path_ / "log" / (node + ".toml");
  if (auto ok = made.write_config(settings); !ok)
    return tl::unexpected{ok.error()};
  return made;
}

result<void> run_folder::lock(const std::string& name) {
  auto file = path_ / "log" / (name + ".lock");
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0)
    return io_error("write", file);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return fail(ec::invalid_argument,
                fmt::format("node {} of the run in {} is running already", name,
                            path_.string()));
  return {};
}

result<void> run_folder::write_config(const config& settings) {
  return replace_file(config_file_, config_text(settings));
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
  return {};
}

} // namespace swage
