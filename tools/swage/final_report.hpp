#pragma once

#include <filesystem>

namespace swage {

/// Prints what a run ends with: metrics of its evaluations per level, and
/// their outcomes by category. Returns an exit code.
int print_final_report(const std::filesystem::path& run);

} // namespace swage
