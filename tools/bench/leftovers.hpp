#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace swage::bench {

/// From now on, whatever a child of this process leaves behind when it dies
/// becomes a child of this process, so that nothing gets out of sight.
void adopt_orphans();

/// All processes that descend from this one, with their command lines; those
/// that have ended are reaped first, except `kept`.
std::map<pid_t, std::string> descendants(pid_t kept);

/// Names in /dev/shm that belong to this project or to LibTorch.
std::set<std::string> shared_segments();

/// Files and folders of a run that only exist while something is written: in
/// the run's folder, its checkpoints and the temporary folder it was given.
std::vector<std::string> stray_files(const std::filesystem::path& run,
                                     const std::filesystem::path& temporary);

/// Whether a checkpoint is half written.
bool is_torn(const std::filesystem::path& run);

} // namespace swage::bench
