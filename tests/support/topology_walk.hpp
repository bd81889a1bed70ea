#pragma once

#include "actors/local_node.hpp"
#include "runtime/buffer/memory_journal.hpp"
#include "tests/support/checked_journal.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/simulation.hpp"
#include "tests/support/topology_plan.hpp"
#include "tests/support/training_oracle.hpp"
#include "tests/support/virtual_network.hpp"
#include "tests/support/walk_trace.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace swage::test {

/// The walk broke an invariant, or came to no end.
struct walk_failed : std::runtime_error {
  walk_failed(const std::string& what, std::string trace)
    : std::runtime_error(what), trace(std::move(trace)) {}

  std::string trace;
};

/// How often the interesting things happened.
struct topology_counts {
  uint64_t messages = 0, lost = 0, twice = 0, late = 0;
  uint64_t jobs = 0, steps = 0, redone = 0, voided = 0;
  uint64_t killed_processes = 0, killed_heads = 0, killed_actors = 0;
  uint64_t crashed_commits = 0, crashed_steps = 0, crashed_saves = 0;
  uint64_t cuts = 0, pauses = 0, full_disks = 0, replaced = 0, stalls = 0;
  uint64_t restarts = 0;
  uint64_t fenced = 0, samples = 0, regrants = 0, repairs = 0, stale = 0;
  uint64_t evicted = 0;
  uint64_t credits_counted = 0, settled = 0; ///< Walks.
  double virtual_s = 0;

  void add(const topology_counts& other);
  std::string text() const;
};

/// A whole run in virtual time: every process of the plan with its real
/// actors, the network between them, and what goes wrong. Each message takes
/// its actor as long as such work does, so that decoding, judging, training
/// and weights overtake one another as they do on many threads.
class topology_walk {
public:
  topology_walk(topology_plan plan, const std::filesystem::path& folder);
  ~topology_walk();

  /// To the end of the run, then checks what it left. Throws `walk_failed`.
  topology_counts run();

  const checked_journal& journal() const { return *journal_; }

  /// Everything that was decided on, as text: equal for equal plans.
  std::string trace() const { return trace_.text(); }

private:
  using clock_point = caf::actor_clock::time_point;

  enum class work : uint8_t {
    light,
    buffer,
    rollout,
    slot,
    mirror,
    learner,
  };

  /// One process of a node.
  struct process {
    uint32_t number = 0; ///< On the network.
    size_t node = 0;     ///< Of the plan's.
    node_id who;
    node_materials made;
    spawned_node spawned;
    connector_actor connector;
    std::map<caf::actor_id, work> works; ///< Of the others, `slot`.
    caf::actor_id after = 0, last = 0;
    double started = 0;
    double paused_until = 0;
    double hindered_until = 0; ///< What it does may come late until then.
    bool alive = true, finished = false, dying = false, replaced = false;
    bool dies_in_step = false, dies_in_save = false;
  };

  struct waiting_job {
    double ready = 0;
    process* of = nullptr;
  };

  // topology_walk.cpp
  double now();
  void turn();
  void run_job(size_t at);
  double cost(work what, process& of);
  double stall(work what, process& of);
  void hinder(process& who, double span);
  bool over() const;
  void begin_calm();
  void check_time();
  void refuse(const std::string& what);
  void note(std::string text);
  void at(double when, std::function<void()> what);

  // topology_process.cpp
  void start(size_t node);
  void make(process& one);
  void open_buffer(process& one);
  trainer_fate fate_of(process& one);
  verdict judge(const task& what, const std::string& response);
  void spawn(process& one);
  void die(process& one);
  void kill(process& one);
  void restart_later(process& one);
  void supervise();
  void on_end(process& one);
  process* head();
  process* newest(size_t node);
  process* find(uint32_t number);

  // topology_faults.cpp
  fate decide(const passage& one);
  void plan_blow();
  void strike();
  void kill_some_actor(process& one);
  void pause(process& one);
  void cut_some(bool isolate);
  void fill_disk();
  void replace(size_t node);
  process* some_process(bool may_be_head);
  process* learner();

  // topology_checks.cpp
  void look();
  void check_leases();
  void check_end();
  void check_items();
  bool batches_contain(const item_row& row) const;
  void check_checkpoint();
  void check_credits();
  void check_settled();
  void count_end();

  topology_plan plan_;
  std::filesystem::path folder_;
  dice draw_;
  walk_trace trace_;
  topology_counts counts_;
  std::string violation_;
  std::shared_ptr<memory_journal> memory_;
  std::shared_ptr<checked_journal> journal_;
  std::unique_ptr<training_oracle> oracle_;
  std::map<size_t, uint64_t> incarnations_;
  std::set<std::pair<uint32_t, uint32_t>> unreachable_;
  std::map<std::pair<std::string, uint64_t>, double> died_;
  uint32_t blows_ = 0;
  bool calm_ = false;
  bool lingers_ = false; ///< The end takes its time and nobody exits.
  double buffer_held_until_ = 0;
  double head_ended_ = -1, head_hindered_ = 0;

  simulation sim_;
  std::unique_ptr<virtual_network> net_;
  std::vector<std::unique_ptr<process>> processes_;
  std::unordered_map<caf::resumable*, waiting_job> waiting_;
};

} // namespace swage::test
