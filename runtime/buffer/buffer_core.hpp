#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/buffer/grant.hpp"
#include "runtime/buffer/journal.hpp"
#include "runtime/buffer/lease_table.hpp"
#include "runtime/buffer/ledger.hpp"
#include "runtime/buffer/progress.hpp"
#include "runtime/buffer/sources.hpp"
#include "runtime/buffer/stage.hpp"
#include "runtime/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/task/task_sets.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace swage {

/// The life cycle of items and batches: a state machine of plain values. It
/// reads no clock (`now` is a monotonic time in seconds), draws from seeds and
/// from what is stored, and writes through its journal only.
///
///   queued --drawn--> open --last sample--> verified --next_batch--> assigned
///                      |                       |                        |
///                      +---- discarded(reason), collected, scored <-----+
///
/// How a shell uses it
/// - Calls one function per message, keeps the reply, and lets nothing out
///   before `flush` succeeded: one transaction for all messages of a drained
///   mailbox. When `flush` fails the core is back where the last flush left
///   it; the shell then answers every kept `submit` with `journal_full`,
///   every `sync` with no grants, `next_batch` with `nothing`, and the others
///   with the error.
/// - Holds a request instead of answering "nothing" for at most `poll_hold_s`:
///   a `sync` without grants while `could_grant()` is false, and a
///   `next_batch` answered `nothing` or `stage_over` while
///   `could_deliver(epoch, after)` is false. It asks both after each flush
///   that `revision()` changed in, and then calls the function again.
/// - Calls `tick` every `tick_interval_s`; nothing expires otherwise.
/// - Sets `hops.stored` of a trajectory before `submit`.
class buffer_core {
public:
  static constexpr double tick_interval_s = 1;

  /// Rebuilds everything from the journal and begins the first stage if it is
  /// new. Fails with `invalid_config` (the journal was written for another
  /// configuration, or a stage has no task), `corrupt` (its hash chain does
  /// not fit its batches), or the journal's own error.
  static result<std::unique_ptr<buffer_core>>
  open(std::shared_ptr<journal> where, const config& how, task_sets tasks,
       double now);

  /// Renews the leases named in `ask.held`, frees the owner's others, grants
  /// up to `ask.want` samples (at most one item more than fits).
  sync_reply sync(const sync_request& ask, double now);

  /// Stores one sample. The first one of (item, index) wins.
  submit_status submit(const owner& from, uint64_t lease,
                       const trajectory& what, double now);

  /// A learner takes over: every earlier epoch is fenced.
  result<attach_reply> attach(const owner& learner, double now);

  /// Batch `after` + 1: the recorded one again, or a new one if enough is
  /// verified and every earlier one is committed. `stage_over`: nothing yet,
  /// and the stage of batch `after` has ended.
  next_reply next_batch(uint64_t epoch, uint64_t after, double now);

  /// The payload of one sample, or `not_found` (also once no kept checkpoint
  /// needs it).
  result<trajectory> fetch(uint64_t item, uint32_t index) const;

  /// Stores the mirror's judgements of members of a recorded batch, and its
  /// drift; the first of each sample and of each batch wins. `wall_s` is the
  /// time of day for `hops.trained`.
  result<void> judged(uint64_t epoch, const std::vector<judgement>& all,
                      const drift_report& drift, double wall_s);

  /// Batch `report.step` was trained. Idempotent. Fails with `fenced`, or
  /// `invalid_argument` for a batch that is not the next to be committed.
  result<void> commit(uint64_t epoch, const step_report& report, double now);

  /// A checkpoint is on disk. Fails with `fenced`, `invalid_argument` (not
  /// committed) or `corrupt` (another hash). Payloads older than the oldest of
  /// the `keep_last` newest ones are dropped.
  result<void> checkpointed(uint64_t epoch, uint64_t step, uint64_t hash);

  /// Frees what this process, or an earlier one of that node, held.
  void owner_down(const std::string& node, uint64_t incarnation);

  /// Expires leases; tries a journal that failed again.
  void tick(double now);

  /// Grants nothing more and makes no new batch; recorded ones are delivered.
  /// `reason`, why the run could not go on, stands in the journal until it is
  /// opened again.
  void drain(const std::string& reason = {});

  /// Ends the present RL stage with the batches that are recorded.
  void end_stage(double now);

  /// Makes everything since the last flush durable, or takes it back.
  result<void> flush();

  bool could_grant() const;
  bool could_deliver(uint64_t epoch, uint64_t after) const;
  uint64_t revision() const { return revision_; }

  /// Whether every stage is over.
  bool over() const;
  buffer_progress progress(double now) const;
  const std::vector<stage_plan>& plan() const { return plan_; }
  /// The version that the present evaluation needs (the publisher pins it).
  std::optional<uint64_t> exact_version() const;
  const lease_table& leases() const { return leases_; }

private:
  buffer_core(std::shared_ptr<journal> where, const config& how,
              task_sets tasks, std::vector<stage_plan> plan);

  // core_open.cpp
  result<void> check_tasks() const;
  result<void> check_fingerprint();
  result<void> check_chain() const;
  result<void> restore();
  void rebuild_sources();

  // core_stage.cpp
  uint32_t stage_index() const;
  const stage_plan* stage() const;
  std::span<const task> tasks_of(const stage_plan& row) const;
  uint64_t stage_batches(uint32_t index) const;
  bool stage_done() const;
  void advance(double now);
  void begin_stage(uint32_t index, double now);

  // core_grant.cpp
  bool failing() const { return broken_ || journal_fails_; }
  bool writable() const { return !failing() && journal_trouble_.empty(); }
  bool in_rl(const live_item& one) const {
    return plan_[one.row.what.stage].is_rl();
  }
  bool is_grantable(const live_item& one) const;
  bool may_draw() const;
  std::optional<uint64_t> pick(double now);
  std::optional<uint64_t> draw();
  bool is_timed(const live_item& one, const stage_plan& row) const;
  grant make_grant(live_item& one, const owner& to, double now);
  void give_up(live_item& one);
  uint64_t outstanding() const;
  uint64_t outstanding_bound() const;
  uint64_t buffered_bytes() const;
  uint64_t retry_steps() const;
  live_item* oldest_repair();

  // core_submit.cpp
  bool fits(const live_item& one, const lease& held, const sample_row& row,
            const trajectory& what) const;
  void complete(live_item& one);
  void complete_group(live_item& one);
  void discard(live_item& one, discard_reason why);
  void add_repair(const live_item& failed);

  // core_batch.cpp
  std::optional<uint64_t> oldest_known(const live_item& one) const;
  std::vector<live_item*> verified_in_order();
  const live_item* held_for() const;
  void discard_stale(uint64_t next);
  std::optional<uint64_t> assemble(double now);
  std::optional<uint64_t> assemble_groups();
  std::optional<uint64_t> assemble_examples();
  batch deliver(uint64_t step, uint64_t epoch);
  void void_batch(batch_row row);
  result<void> fenced(uint64_t epoch) const;
  void drop_covered_payloads();

  // core_progress.cpp
  std::string waiting_for() const;
  bool lacks_examples() const;
  bool lacks_spread() const;
  std::string waiting_in_rl() const;
  void touch(double now);

  std::shared_ptr<journal> journal_;
  config how_;
  task_sets tasks_;
  std::map<std::string, const task*> by_id_;
  std::vector<stage_plan> plan_;
  ledger book_;
  lease_table leases_;
  std::optional<task_source> drawn_;
  std::optional<example_source> examples_;
  std::map<std::string, uint64_t> incarnations_; ///< Newest of each node.
  bool draining_ = false;
  bool broken_ = false; ///< Memory is ahead of a journal that cannot be read.
  bool journal_fails_ = false;
  std::string journal_trouble_; ///< It fails or is slow: nothing is granted.
  uint64_t revision_ = 0;
  double since_ = 0;
  double stage_began_ = 0;
  uint64_t done_at_begin_ = 0;
};

} // namespace swage
