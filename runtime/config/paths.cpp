#include "runtime/config/paths.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include <unistd.h>

namespace swage {

namespace fs = std::filesystem;

namespace {

/// Value of an environment variable; empty if unset.
std::string environment(const char* name) {
  auto* value = std::getenv(name);
  return value ? value : "";
}

fs::path folder_of_this_program() {
  std::error_code failed;
  auto program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path{} : program.parent_path();
}

} // namespace

fs::path data_folder() {
  if (auto home = environment("SWAGE_HOME"); !home.empty())
    return home;
  auto installed = (folder_of_this_program() / ".." / "share" / "swage")
                     .lexically_normal();
  std::error_code failed;
  return fs::is_directory(installed, failed) ? installed
                                             : fs::path{SWAGE_SOURCE_DIR};
}

fs::path verify_folder() {
  return data_folder() / "runtime" / "verify";
}

fs::path program_folder() {
  auto folder = environment("SWAGE_BIN");
  return folder.empty() ? folder_of_this_program() : fs::path{folder};
}

result<fs::path> worker_program() {
  auto program = program_folder() / "swage-worker";
  if (::access(program.c_str(), X_OK) != 0)
    return fail(ec::not_found,
                fmt::format("expected the program swage-worker at {}, found "
                            "none; build it, or set SWAGE_BIN to its folder",
                            program.string()));
  return program;
}

result<fs::path> python_program() {
  auto given = environment("SWAGE_PYTHON");
  fs::path program = given.empty() ? SWAGE_PYTHON_DEFAULT : given;
  if (::access(program.c_str(), X_OK) != 0)
    return fail(ec::not_found,
                fmt::format("expected a Python with torch at {}, found none; "
                            "run tools/setup, or set SWAGE_PYTHON to one",
                            program.string()));
  return program;
}

fs::path cache_folder(const std::string& configured) {
  if (!configured.empty())
    return configured;
  fs::path base = environment("XDG_CACHE_HOME");
  if (base.empty())
    base = fs::path{environment("HOME")} / ".cache";
  return base / "swage" / "verify";
}

result<fs::path> find_data(const fs::path& path, std::string_view what) {
  std::error_code failed;
  if (fs::exists(path, failed))
    return fs::absolute(path).lexically_normal();
  auto ours = (data_folder() / path).lexically_normal();
  if (fs::exists(ours, failed))
    return ours;
  auto here = fs::absolute(path).lexically_normal();
  return fail(ec::not_found,
              here == ours
                ? fmt::format("expected {} at {}, found nothing there", what,
                              here.string())
                : fmt::format("expected {} at {}, found nothing there and "
                              "nothing at {}",
                              what, here.string(), ours.string()));
}

result<void> resolve_paths(config& settings) {
  auto policy = find_data(settings.policy.path, "the policy (policy.path)");
  if (!policy)
    return tl::unexpected{policy.error()};
  for (auto* name : {"config.json", "tokenizer.json"})
    if (std::error_code failed; !fs::exists(*policy / name, failed))
      return fail(ec::not_found,
                  fmt::format("expected {} in the policy's folder "
                              "(policy.path) {}, found none",
                              name, policy->string()));
  settings.policy.path = policy->string();
  if (settings.tasks.suite != "generated") {
    auto suite = find_data(settings.tasks.suite, "the tasks (tasks.suite, if not generated)");
    if (!suite)
      return tl::unexpected{suite.error()};
    settings.tasks.suite = suite->string();
  }
  if (!settings.verifier.cache.empty())
    settings.verifier.cache = fs::absolute(settings.verifier.cache).string();
  for (auto* file : {&settings.cluster.tls_certificate,
                     &settings.cluster.tls_key, &settings.cluster.tls_ca})
    if (!file->empty()) {
      auto found = find_data(*file, "a TLS file ([cluster] tls_*)");
      if (!found)
        return tl::unexpected{found.error()};
      *file = found->string();
    }
  return {};
}

} // namespace swage
