#pragma once

#include "runtime/buffer/journal.hpp"
#include "runtime/buffer/stage.hpp"
#include "runtime/config/config.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace swage::test {

/// A journal that keeps a second account of what is durable, and checks with
/// every transaction what must hold whatever happens: items go their way and
/// stay at their end, a sample is stored once, batches are numbered without a
/// gap, disjoint, within the staleness bound, chained by their hashes and
/// committed in order.
class checked_journal : public journal {
public:
  using key = std::pair<uint64_t, uint32_t>;
  using refuse = std::function<void(const std::string& violation)>;

  checked_journal(config how, refuse broken);

  /// What it stands on; anew after each restart of the process. Checks that
  /// nothing durable was lost.
  void open(std::shared_ptr<journal> where);

  /// The process that wrote is gone.
  void close() { inner_.reset(); }

  /// In the next transaction the process dies: before or after it is durable.
  void die_in_commit(bool after, std::function<void()> die);

  const std::map<uint64_t, item_row>& items() const { return items_; }
  const std::map<key, sample_row>& samples() const { return samples_; }
  const std::map<uint64_t, batch_row>& batches() const { return batches_; }
  const std::map<uint32_t, stage_row>& stages() const { return stages_; }
  const std::map<uint64_t, checkpoint_row>& checkpoints() const {
    return checkpoints_;
  }
  const std::map<key, judgement>& judgements() const { return judgements_; }
  const std::vector<stage_plan>& plan() const { return plan_; }
  /// First token of what was stored for the sample; 0 if it has none.
  int32_t mark_of(const key& at) const;
  uint64_t last_committed() const;
  uint64_t hash_at(uint64_t step) const;

  void put(const item_row& row) override;
  void put(const sample_row& row, const trajectory& whole,
           bool keep_payload) override;
  void put(const batch_row& row) override;
  void put(const stage_row& row) override;
  void put(const checkpoint_row& row) override;
  void put(const judgement& row, double wall_s) override;
  void put(const drift_report& row) override { inner_->put(row); }
  void put(const step_report& row) override { inner_->put(row); }
  void put_epoch(uint64_t epoch, const owner& learner) override {
    inner_->put_epoch(epoch, learner);
  }
  void put_meta(const std::string& key, const std::string& value) override {
    inner_->put_meta(key, value);
  }
  void drop_payloads_of(uint64_t item) override {
    inner_->drop_payloads_of(item);
  }
  void drop_payloads_through(uint64_t step) override {
    inner_->drop_payloads_through(step);
  }
  void drop_payloads_of_stage(uint32_t stage) override {
    inner_->drop_payloads_of_stage(stage);
  }
  bool pending() const override { return inner_->pending(); }
  result<double> commit() override;
  void rollback() override;
  result<journal_image> load() override { return inner_->load(); }
  result<trajectory> fetch(uint64_t item, uint32_t index) override {
    return inner_->fetch(item, index);
  }
  result<bool> has_sample(uint64_t item, uint32_t index) override {
    return inner_->has_sample(item, index);
  }
  result<std::vector<judgement>> judgements(uint64_t step) override {
    return inner_->judgements(step);
  }

private:
  void apply(const item_row& row);
  void apply(const sample_row& row, int32_t mark);
  void apply(const batch_row& row);
  void apply(const judgement& row);
  void check_new(const batch_row& row);
  void check_bounds();
  void require(bool holds, const std::string& what) const;
  bool in_rl(const item_row& row) const;

  config how_;
  refuse refuse_;
  std::vector<stage_plan> plan_;
  std::shared_ptr<journal> inner_;
  std::vector<std::function<void()>> staged_;
  std::function<void()> die_;
  bool die_after_ = false;

  std::map<uint64_t, item_row> items_;
  std::map<key, sample_row> samples_;
  std::map<uint64_t, batch_row> batches_;
  std::map<uint32_t, stage_row> stages_;
  std::map<uint64_t, checkpoint_row> checkpoints_;
  std::map<key, judgement> judgements_;
  std::map<key, int32_t> marks_;
  std::map<uint64_t, uint64_t> batch_of_; ///< RL items.
};

} // namespace swage::test
