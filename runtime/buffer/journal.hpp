#pragma once

#include "runtime/buffer/rows.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swage {

/// How many samples of one category a stage lost with items of one reason.
struct discarded_samples {
  uint32_t stage = 0;
  discard_reason reason = discard_reason::none;
  category kind = category::ok;
  uint64_t count = 0;
};

/// Everything durable that the buffer decides on. Samples are those of items
/// that are open, verified or collected, or in a batch not yet committed.
struct journal_image {
  std::map<std::string, std::string> meta;
  std::vector<item_row> items;             ///< By id.
  std::vector<sample_row> samples;         ///< By (item, index).
  std::vector<batch_row> batches;          ///< By step.
  std::vector<stage_row> stages;           ///< By index.
  std::vector<checkpoint_row> checkpoints; ///< By step.
  /// Samples of the items that were discarded since the newest batch.
  std::vector<discarded_samples> discarded;
  uint64_t epoch = 0;
};

/// The buffer's durable memory. The first write opens a transaction, `commit`
/// makes it durable. A write that fails is remembered and makes the next
/// `commit` fail; so the caller checks one place. Reads see the open
/// transaction. One thread, one writer.
class journal {
public:
  virtual ~journal() = default;

  /// Inserts or replaces by id.
  virtual void put(const item_row& row) = 0;
  /// Inserts; `whole` is stored for `fetch` if `keep_payload`, and in columns
  /// for people always.
  virtual void put(const sample_row& row, const trajectory& whole,
                   bool keep_payload) = 0;
  /// Inserts or replaces by step. Members are written on insertion only.
  virtual void put(const batch_row& row) = 0;
  virtual void put(const stage_row& row) = 0;
  virtual void put(const checkpoint_row& row) = 0;
  /// Stored on the sample's row unless that has a judgement: the first wins.
  virtual void put(const judgement& row, double wall_s) = 0;
  /// The first report of a step wins.
  virtual void put(const drift_report& row) = 0;
  /// Stored on the batch's row.
  virtual void put(const step_report& row) = 0;
  virtual void put_epoch(uint64_t epoch, const owner& learner) = 0;
  virtual void put_meta(const std::string& key, const std::string& value) = 0;

  /// Payloads that nobody will fetch any more; the readable columns stay.
  virtual void drop_payloads_of(uint64_t item) = 0;
  virtual void drop_payloads_through(uint64_t step) = 0;
  virtual void drop_payloads_of_stage(uint32_t stage) = 0;

  /// Whether there is anything to commit.
  virtual bool pending() const = 0;

  /// Seconds that it took, or `journal_full` / `io` / `corrupt`; then nothing
  /// of the transaction is durable and it is rolled back.
  virtual result<double> commit() = 0;
  virtual void rollback() = 0;

  virtual result<journal_image> load() = 0;
  virtual result<trajectory> fetch(uint64_t item, uint32_t index) = 0;
  virtual result<bool> has_sample(uint64_t item, uint32_t index) = 0;
  /// Those that batch `step` got, by (item, index).
  virtual result<std::vector<judgement>> judgements(uint64_t step) = 0;
};

} // namespace swage
