#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace swage::bench {

/// Everything of a run's record that recovery promises to keep.
struct run_facts {
  struct member {
    uint64_t item = 0;
    uint32_t index = 0;
    std::string kind; ///< "example", "task" or "repair".
  };
  struct batch {
    uint64_t step = 0;
    uint32_t stage = 0;
    uint64_t hash = 0; ///< As recorded.
    bool committed = false, voided = false;
    std::vector<member> members;
  };
  struct sample {
    uint64_t text_hash = 0;
    bool dropped = false;
    bool versioned = false;
    uint64_t oldest = 0, newest = 0; ///< Versions of its tokens.
  };
  struct item {
    uint32_t stage = 0;
    std::string kind, state, reason;
    uint64_t step = 0;
    uint32_t samples = 0; ///< How many it consists of.
    std::map<uint32_t, sample> stored;
  };
  struct stage {
    std::string name;
    uint64_t version = 0;
    bool over = false;
  };
  struct checkpoint {
    std::string name;
    uint64_t step = 0;
    uint64_t hash = 0;
    std::string trouble; ///< Not empty: its files do not match its manifest.
  };

  std::vector<stage> stages;
  std::vector<batch> batches; ///< By step.
  std::map<uint64_t, item> items;
  std::vector<checkpoint> checkpoints; ///< Those on disk, by step.
  uint64_t openings = 0;               ///< How often a process opened it.
};

/// Reads `run.db` and every checkpoint's manifest and files.
result<run_facts> read_facts(const std::filesystem::path& run);

/// How the groups of reinforcement learning ended, or where they are.
struct group_counts {
  uint64_t trained = 0, waiting = 0, discarded = 0, lost = 0;
};

/// A group is trained if its samples are members of its batch, waits if it is
/// queued, open or verified, or is discarded with a reason. What is neither is
/// lost: among them an open group that lacks no sample, which nobody ends.
group_counts count_groups(const run_facts& run);

/// h_0 ... h_b, recomputed from the members alone.
std::vector<uint64_t> recomputed_chain(const run_facts& run);

/// What does not hold at any moment, also in the middle of a run: steps without
/// gaps, committed ones first; hashes and checkpoints equal to the recomputed
/// chain; batches disjoint; no group lost. One sentence each.
std::vector<std::string> find_faults(const run_facts& run);

/// What of `before` is not in `after`: samples and batches are for ever.
std::vector<std::string> find_losses(const run_facts& before,
                                     const run_facts& after);

/// What a run that is over must have.
struct expected_end {
  size_t stages = 0;
  uint64_t batches = 0;          ///< Of all stages that train.
  uint64_t evaluation_items = 0; ///< Of each evaluation.
  uint32_t keep_last = 0;        ///< Checkpoints.
};

/// What a run that is over lacks: stages over, all batches committed, nothing
/// that waits, every evaluation whole and at its version alone, the newest
/// checkpoint at the last step.
std::vector<std::string> find_unfinished(const run_facts& run,
                                         const expected_end& end);

} // namespace swage::bench
