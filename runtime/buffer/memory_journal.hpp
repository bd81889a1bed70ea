#pragma once

#include "runtime/buffer/journal.hpp"

#include <functional>
#include <set>
#include <stdexcept>

namespace swage {

/// Thrown by a `memory_journal` that was told to crash.
struct journal_crash : std::runtime_error {
  journal_crash() : std::runtime_error("the journal crashed on request") {}
};

/// A journal in memory with the transactions of the real one, for tests of
/// whatever stands on it: it can crash between any two writes and refuse to
/// commit like a full disk.
class memory_journal : public journal {
public:
  /// From now on, the `n`-th write or commit (from 1) throws `journal_crash`
  /// before it happens; a commit throws either before or after it is durable.
  void crash_at(uint64_t n, bool after_commit = false) {
    crash_in_ = n;
    crash_after_commit_ = after_commit;
  }

  /// What a process finds that starts after a crash: the transaction is gone.
  void recover();

  /// Every commit fails with `journal_full` while this is set.
  bool full = false;
  /// What every commit says that it took.
  double commit_s = 0;

  void put(const item_row& row) override;
  void put(const sample_row& row, const trajectory& whole,
           bool keep_payload) override;
  void put(const batch_row& row) override;
  void put(const stage_row& row) override;
  void put(const checkpoint_row& row) override;
  void put(const judgement& row, double wall_s) override;
  void put(const drift_report& row) override;
  void put(const step_report& row) override;
  void put_epoch(uint64_t epoch, const owner& learner) override;
  void put_meta(const std::string& key, const std::string& value) override;
  void drop_payloads_of(uint64_t item) override;
  void drop_payloads_through(uint64_t step) override;
  void drop_payloads_of_stage(uint32_t stage) override;
  bool pending() const override { return !undo_.empty(); }
  result<double> commit() override;
  void rollback() override;
  result<journal_image> load() override;
  result<trajectory> fetch(uint64_t item, uint32_t index) override;
  result<bool> has_sample(uint64_t item, uint32_t index) override;
  result<std::vector<judgement>> judgements(uint64_t step) override;

  using key = std::pair<uint64_t, uint32_t>;

  /// The tables, open transaction included, for assertions.
  const std::map<uint64_t, item_row>& items() const { return items_; }
  const std::map<key, sample_row>& samples() const { return samples_; }
  const std::map<uint64_t, batch_row>& batches() const { return batches_; }

private:
  template <class Map>
  void write(Map& table, const typename Map::key_type& at,
             typename Map::mapped_type value);
  template <class Map>
  void erase(Map& table, const typename Map::key_type& at);
  void count_down();

  std::map<uint64_t, item_row> items_;
  std::map<key, sample_row> samples_;
  std::map<key, trajectory> payloads_;
  std::map<uint64_t, batch_row> batches_;
  std::map<uint32_t, stage_row> stages_;
  std::map<uint64_t, checkpoint_row> checkpoints_;
  std::map<key, judgement> judgements_;
  std::map<uint64_t, drift_report> drifts_;
  std::map<uint64_t, step_report> reports_;
  std::map<uint64_t, owner> epochs_;
  std::map<std::string, std::string> meta_;
  std::vector<std::function<void()>> undo_;
  uint64_t crash_in_ = 0;
  bool crash_after_commit_ = false;
};

} // namespace swage
