#pragma once

#include "runtime/config/config.hpp"
#include "runtime/error.hpp"

#include <filesystem>
#include <string_view>

namespace swage {

/// Folder of the project's data: `configs/`, and the Python and prelude files
/// in `runtime/`. From the environment's SWAGE_HOME, else `../share/swage`
/// beside the running program's folder, else the source folder that the
/// program was built from.
std::filesystem::path data_folder();

/// Folder with the judge's Python files and the prelude.
std::filesystem::path verify_folder();

/// Folder of the running program, or the environment's SWAGE_BIN: where
/// `swage-worker` is too.
std::filesystem::path program_folder();

/// The `swage-worker` program; `ec::not_found` says where it was looked for.
result<std::filesystem::path> worker_program();

/// The Python with torch: the environment's SWAGE_PYTHON, else the one that
/// the program was built for; `ec::not_found` says which was tried.
result<std::filesystem::path> python_program();

/// Cache of builds and verdicts: `configured`, else $XDG_CACHE_HOME/swage/
/// verify, else ~/.cache/swage/verify.
std::filesystem::path cache_folder(const std::string& configured);

/// `path` as it stands from the working folder, else from `data_folder()`.
/// `ec::not_found` names both places; `what` says what was looked for.
result<std::filesystem::path> find_data(const std::filesystem::path& path,
                                        std::string_view what);

/// Makes the paths in a configuration absolute, so that the resolved one
/// means the same from any folder.
result<void> resolve_paths(config& settings);

} // namespace swage
