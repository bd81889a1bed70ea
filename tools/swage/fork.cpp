#include "tools/swage/fork.hpp"

#include "runtime/store/durable_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <system_error>
#include <vector>

namespace swage {

namespace fs = std::filesystem;

result<checkpoint_info> find_fork_point(const fs::path& run, uint64_t step) {
  std::error_code failed;
  if (!fs::is_directory(run, failed))
    return fail(ec::not_found,
                fmt::format("--from {}: expected the folder of a run, found "
                            "none",
                            run.string()));
  std::vector<uint64_t> steps;
  for (auto& one : checkpoint_store{run / "checkpoints", 1}.list()) {
    if (step_of(one) == step)
      return checkpoint_store::open(one);
    steps.push_back(step_of(one));
  }
  return fail(ec::not_found,
              fmt::format("--fork {}: the run in {} has no checkpoint of that "
                          "step; {}",
                          step, run.string(),
                          steps.empty()
                            ? "it has none"
                            : fmt::format("it has those of the steps {}",
                                          fmt::join(steps, ", "))));
}

fs::path forked_policy(const fs::path& folder, const checkpoint_info& from) {
  return fs::absolute(folder).lexically_normal() / "forked"
         / from.directory.filename();
}

result<void> copy_checkpoint(const checkpoint_info& from,
                             const fs::path& folder) try {
  auto to = forked_policy(folder, from);
  auto beside = to;
  beside += ".part";
  fs::remove_all(beside);
  fs::create_directories(to.parent_path());
  fs::copy(from.directory, beside, fs::copy_options::recursive);
  for (auto& entry : fs::directory_iterator{beside})
    if (auto synced = sync_path(entry.path()); !synced)
      return synced;
  fs::remove_all(to);
  fs::rename(beside, to);
  return sync_path(to.parent_path());
} catch (const fs::filesystem_error& failure) {
  return fail(ec::io, fmt::format("cannot copy the checkpoint {}: {}",
                                  from.directory.string(), failure.what()));
}

} // namespace swage
