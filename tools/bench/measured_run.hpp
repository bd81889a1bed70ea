#pragma once

#include "runtime/config/config.hpp"
#include "tools/bench/run_figures.hpp"

#include <cstdint>
#include <filesystem>

namespace swage::bench {

struct run_plan {
  config settings; ///< Of the asynchronous run.
  bool lockstep = false;
  double wait_median_s = 0; ///< Each verification waits too; 0: none does.
  uint32_t measured = 0;    ///< Steps.
};

/// One run of the real actors, from its first item to its last batch, in
/// `scratch`, with caches of its own. Exits with 3 and a message if it fails.
run_figures measured_run(const run_plan& plan,
                         const std::filesystem::path& scratch);

} // namespace swage::bench
