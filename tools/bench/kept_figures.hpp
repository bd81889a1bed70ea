#pragma once

#include "tools/bench/run_figures.hpp"

#include <filesystem>
#include <functional>

namespace swage::bench {

/// What `file` holds, or else what `measure` returns, which is then written
/// there: whole or not at all. An empty `file` keeps nothing.
run_figures kept_or_measured(const std::filesystem::path& file,
                             const std::function<run_figures()>& measure);

} // namespace swage::bench
