#pragma once

#include "fixture.hpp"

#include "runtime/buffer/sqlite_journal.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace swage::test {

/// What one random walk is made of; everything else is drawn from the seed.
struct walk {
  uint64_t seed = 1;
  uint32_t groups_per_batch = 2;
  uint32_t max_staleness = 1;
  bool long_plan = false;       ///< RFT and a second SFT too.
  std::filesystem::path run_db; ///< Empty: a journal in memory.
};

/// The walk broke an invariant, or came to no end.
struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How often the interesting things happened, over all walks.
struct walk_counts {
  uint64_t events = 0, crashes = 0, redone = 0, voided = 0, fenced = 0,
           repairs = 0, duplicates = 0, superseded = 0, full = 0, stale = 0,
           no_spread = 0, evicted = 0, judged_again = 0, regrants = 0;
};

/// A cluster of rollouts, mirror, learner and disk around one buffer core, in
/// which every message may be lost, repeated or late, and anyone may die
/// between any two writes; with an oracle that knows what must hold.
class world {
public:
  explicit world(const walk& how);
  ~world();

  /// Walks to the end of the run, then trains everything once more from the
  /// oldest kept checkpoint.
  walk_counts run();

private:
  using key = std::pair<uint64_t, uint32_t>;

  struct job {
    grant what;
    std::set<uint32_t> missing;
  };
  struct worker {
    owner who;
    std::vector<job> jobs;
  };
  struct mail {
    owner from;
    uint64_t lease;
    trajectory what;
    std::pair<double, uint64_t> mark; ///< Return and oldest version.
  };
  struct trained_batch {
    uint64_t step;
    bool voided;
    std::vector<key> members;

    friend bool operator==(const trained_batch&,
                           const trained_batch&) = default;
  };
  enum class phase { ask, train, publish, commit, save };
  struct student {
    owner who;
    uint64_t epoch = 0;
    uint64_t step = 0;
    uint64_t hash = 0;
    uint64_t last_at_attach = 0;
    std::vector<trained_batch> trained;
    phase where = phase::ask;
    batch at_hand;
  };
  struct saved {
    uint64_t step = 0;
    uint64_t hash = 0;
    std::vector<trained_batch> trained;
  };

  // world.cpp
  bool chance(double p);
  uint64_t below(uint64_t n);
  void open();
  void restart();
  /// One event and its transaction; false if its reply does not count.
  bool deliver(const std::function<void()>& event);
  void step();
  void let_time_pass();

  // world_rollout.cpp
  void ask_for_work();
  void finish_sample();
  void receive_sample();
  void lose_worker();
  double draw_score(const job& from, uint32_t index);
  void check_grant(const grant& what);

  // world_learner.cpp
  void move_learner();
  void attach_learner();
  void ask_for_batch();
  void train_batch();
  void commit_batch();
  void save_checkpoint();
  void lose_learner();
  void zombie_speaks();
  void check_batch(const batch& what);
  void retrain_everything();

  // world_oracle.cpp
  void check_now();
  void check_items();
  void check_batches();
  void check_repairs();
  void check_end();
  const item_row& row(uint64_t item) const;
  bool in_rl(const item_row& row) const;
  void require(bool holds, const std::string& what) const;
  void refresh();

  walk how_;
  config config_;
  task_sets tasks_;
  std::mt19937_64 random_;
  std::shared_ptr<memory_journal> memory_;
  std::shared_ptr<journal> journal_;
  std::unique_ptr<buffer_core> core_;
  double now_ = 0, last_tick_ = 0;
  walk_counts counts_;

  std::vector<worker> workers_;
  std::vector<mail> mails_;
  std::optional<student> student_;
  std::vector<student> zombies_;
  std::vector<saved> disk_;
  uint64_t published_ = 0;
  uint64_t incarnation_ = 1;
  uint64_t deadly_ = 0; ///< The batch that kills whoever trains it.

  // What the oracle saw.
  std::map<uint64_t, item_row> items_;
  std::map<key, sample_row> samples_;
  std::map<uint64_t, batch_row> batches_;
  std::map<key, std::set<std::pair<double, uint64_t>>> sent_;
  std::map<key, std::pair<double, uint64_t>> stored_;
  std::map<uint64_t, std::vector<key>> recorded_;
  std::map<std::pair<uint64_t, key>, bool> kept_;
  std::set<uint64_t> acknowledged_;
  std::map<uint64_t, uint64_t> grants_;
};

} // namespace swage::test
