#pragma once

#include "tools/bench/kill_plan.hpp"
#include "tools/bench/run_audit.hpp"
#include "tools/bench/run_watch.hpp"
#include "tools/bench/train_process.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace swage::bench {

struct killed_run_options {
  std::filesystem::path folder, program, file;
  std::vector<std::string> knobs;
  config settings; ///< What `file` with `knobs` is.
};

/// One kill that was done.
struct done_kill {
  std::string stage; ///< Or "checkpoint", "start-up".
  victim whom = victim::both;
  double at = 0;         ///< Position of the run.
  uint64_t openings = 0; ///< Of the journal until then.
};

/// A run of the real program that is killed at given moments, resumed each
/// time, and audited while it is dead.
///
///   kill: running -> (moment) -> SIGKILL -> all gone -> audit -> resumed
///
/// What is wrong is collected, one sentence each, and stops nothing.
class killed_run {
public:
  explicit killed_run(killed_run_options how);

  /// Waits for the moment, kills, audits and resumes. False if the run ended
  /// before that moment.
  bool kill(const planned_kill& what);

  /// Waits for the end and audits it.
  void finish();

  const std::vector<done_kill>& kills() const { return kills_; }
  const std::vector<std::string>& faults() const { return faults_; }
  const run_facts& facts() const { return facts_; }

  /// The longest that a process outlived its node.
  double longest_orphan_s() const { return longest_orphan_s_; }

  /// Whether the newest checkpoint is of the last step and has the hash that
  /// is recomputed from the journal's members.
  bool hash_equal() const;

private:
  using clock = std::chrono::steady_clock;

  struct orphan {
    std::string line; ///< Of its command.
    clock::time_point since;
  };

  void start();
  bool has_come(const planned_kill& what);
  bool await(const planned_kill& what);
  void await_start(double limit_s);
  std::string stage_now();
  void strike(victim whom);
  void look_at_orphans();
  void mark_orphans();
  void give_up_after(double limit_s, clock::time_point start, double at);
  void tell(const done_kill& done) const;
  void audit();
  void check_end();
  void note(std::vector<std::string> found);

  std::filesystem::path run() const { return how_.folder / "run"; }
  std::filesystem::path temporary() const { return how_.folder / "tmp"; }

  killed_run_options how_;
  run_watch watch_;
  std::unique_ptr<train_process> process_;
  uint64_t openings_at_start_ = 0;  ///< Of the journal, when a node began.
  std::map<pid_t, orphan> orphans_; ///< Of killed nodes, still there.
  clock::time_point looked_;        ///< After them.
  double longest_orphan_s_ = 0;
  std::set<std::string> segments_; ///< In /dev/shm, before all of it.
  std::vector<done_kill> kills_;
  std::vector<std::string> faults_;
  run_facts facts_;
};

} // namespace swage::bench
