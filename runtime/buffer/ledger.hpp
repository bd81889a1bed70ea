#pragma once

#include "runtime/buffer/journal.hpp"
#include "runtime/buffer/sources.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace swage {

/// An item that may still change, with what it has of its samples.
struct live_item {
  item_row row;
  std::map<uint32_t, sample_row> samples;

  bool complete() const { return samples.size() == row.samples; }
};

/// How many items of a stage got how far.
struct stage_tally {
  uint64_t drawn = 0;  ///< Without repairs: the position of the task source.
  uint64_t closed = 0; ///< Discarded, collected, scored, or committed.
  uint64_t batches = 0;
  uint64_t committed = 0; ///< Batches.
  std::map<discard_reason, uint64_t> discarded;
};

/// Samples that were spent on items of which no batch can come.
struct barren_tally {
  uint64_t samples = 0;
  std::map<category, uint64_t> outcomes; ///< Of those that came back.
};

/// The journal's contents that decisions need, kept equal to it: every change
/// is made here and written there in the same call. Knows no rules.
class ledger {
public:
  explicit ledger(journal& where) : journal_(&where) {}

  /// Replaces everything by what the journal holds.
  result<void> load();

  /// Items queued, open, verified, or in a batch not yet committed, by id.
  const std::map<uint64_t, live_item>& live() const { return live_; }
  live_item* find(uint64_t id);
  uint64_t next_id() const { return next_id_; }
  const std::vector<batch_row>& batches() const { return batches_; }
  const batch_row& batch_at(uint64_t step) const { return batches_[step - 1]; }
  uint64_t last_batch() const { return batches_.size(); }
  uint64_t last_committed() const { return last_committed_; }
  uint64_t hash_at(uint64_t step) const;
  uint64_t epoch() const { return epoch_; }
  const std::vector<stage_row>& stages() const { return stages_; }
  const std::vector<checkpoint_row>& checkpoints() const {
    return checkpoints_;
  }
  const std::map<std::string, std::string>& meta() const { return meta_; }
  const stage_tally& tally(uint32_t stage) const;
  /// What these stages collected.
  std::vector<example> examples(const std::vector<uint32_t>& stages) const;
  /// What a stage spent for nothing since the newest batch was recorded.
  const barren_tally& barren(uint32_t stage) const;
  bool is_member(uint64_t step, uint64_t item, uint32_t index) const;

  /// Adds an item under the next id.
  live_item& add(item_row row);
  /// Writes a changed row of a live item.
  void save(const live_item& what);
  void store(live_item& what, sample_row row, const trajectory& whole,
             bool keep_payload);
  /// Ends a live item; `what` is gone afterwards.
  void close(live_item& what, item_status end, discard_reason reason);
  /// Records batch last_batch() + 1; live members become assigned.
  void record(batch_row row);
  void save(const batch_row& row);
  /// Marks the batch committed; its items leave the live ones.
  void commit(uint64_t step, const step_report& report);
  void save(const stage_row& row);
  void save(const checkpoint_row& row);
  void begin_epoch(const owner& learner);
  void set_meta(const std::string& key, const std::string& value);

private:
  void count(const item_row& row);
  void collect(const live_item& what);

  journal* journal_;
  std::map<uint64_t, live_item> live_;
  std::vector<batch_row> batches_;
  std::vector<stage_row> stages_;
  std::vector<checkpoint_row> checkpoints_;
  std::map<std::string, std::string> meta_;
  std::map<uint32_t, stage_tally> tallies_;
  std::map<uint32_t, std::vector<example>> collected_;
  /// By stage and the newest batch at that time.
  std::map<std::pair<uint32_t, uint64_t>, barren_tally> barren_;
  uint64_t next_id_ = 1;
  uint64_t last_committed_ = 0;
  uint64_t epoch_ = 0;
};

} // namespace swage
