#pragma once

#include "tools/bench/seed_summary.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace swage::bench {

/// What the tables need beside the outcomes.
struct task_facts {
  std::map<std::string, std::vector<std::string>> tags; ///< Operators, by task.
  std::map<std::string, std::string> programs;          ///< By task.
};

/// One metric: a row per seed, then the middle and the least gain, then the
/// mean over the seeds by level.
std::string metric_table(std::span<const seed_outcome> all, metric what);

/// Steps, masked share, staleness, wall time by stage; a row per seed.
std::string run_table(std::span<const seed_outcome> all);

/// Share of the samples by category, before and after.
std::string category_table(std::span<const seed_outcome> all);

/// The operators and the tasks that gained most and least.
std::string part_tables(std::span<const seed_outcome> all,
                        const task_facts& facts);

/// The last line. Shares are in points, as the contract has them.
nlohmann::json summary_json(std::span<const seed_outcome> all);

/// "Avg@8" and so on; `k` is that of the first seed.
std::string name_of(metric what, std::span<const seed_outcome> all);

} // namespace swage::bench
