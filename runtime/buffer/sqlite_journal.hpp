#pragma once

#include "runtime/buffer/journal.hpp"
#include "runtime/buffer/sqlite.hpp"

#include <filesystem>
#include <memory>
#include <optional>

namespace swage {

struct sqlite_options {
  /// Bound on the file, rounded down to pages; 0: the disk's.
  uint64_t max_bytes = 0;
};

/// The journal in `run.db`: SQLite with WAL and `synchronous = FULL`, so that
/// what `commit` acknowledged survives a power cut. A lock file beside it
/// keeps a second writer out; readers are welcome.
class sqlite_journal : public journal {
public:
  /// Creates the file if it does not exist. Fails with `io` (cannot be opened,
  /// another process writes it), `corrupt`, or `unsupported` (made by another
  /// version of the schema).
  static result<std::unique_ptr<sqlite_journal>>
  open(const std::filesystem::path& path, const sqlite_options& options = {});

  ~sqlite_journal() override;
  sqlite_journal(const sqlite_journal&) = delete;
  sqlite_journal& operator=(const sqlite_journal&) = delete;

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
  bool pending() const override { return begun_ || failure_; }
  result<double> commit() override;
  void rollback() override;
  result<journal_image> load() override;
  result<trajectory> fetch(uint64_t item, uint32_t index) override;
  result<bool> has_sample(uint64_t item, uint32_t index) override;
  result<std::vector<judgement>> judgements(uint64_t step) override;

private:
  explicit sqlite_journal(sqlite::database db, int lock);

  result<void> prepare(const sqlite_options& options);
  void write(const char* sql, std::initializer_list<sqlite::value> with);
  void put_members(const batch_row& row);

  sqlite::database db_;
  int lock_;
  bool begun_ = false;
  std::optional<error> failure_; ///< The first of this transaction.
};

} // namespace swage
