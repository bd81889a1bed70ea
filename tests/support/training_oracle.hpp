#pragma once

#include "tests/support/chained_policy.hpp"
#include "tests/support/checked_journal.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace swage::test {

/// What one trainer is asked before it goes on; false: its process dies there.
struct trainer_fate {
  std::function<bool(uint64_t batch)> survives_step;
  std::function<bool()> survives_save;
};

/// Watches every trainer and generator of a walk: a learner at step k was
/// trained on exactly the batches 1 to k, in their order, each with the same
/// outcome however often it is redone; what is loaded as version v is what was
/// published as v.
class training_oracle {
public:
  using refuse = std::function<void(const std::string& violation)>;

  training_oracle(const checked_journal& book, refuse broken);

  /// A trainer of a new process.
  std::shared_ptr<chained_trainer> make_trainer(trainer_fate fate);
  std::shared_ptr<chained_generator> make_generator(uint32_t longest);

  /// The weights after the batches that hash to `chain`, if anyone had them.
  const uint64_t* weights_after(uint64_t chain) const;

  uint64_t steps() const { return steps_; }
  uint64_t redone() const { return redone_; }

private:
  /// What one trainer has done.
  struct student {
    uint64_t at = 0; ///< The newest batch in its weights.
    /// It trained, stopped for a while, a batch that was given up meanwhile:
    /// nothing of it may be seen by others, as generators would tell.
    bool strayed = false;
    trainer_fate fate;
  };

  bool on_step(student& who, std::vector<trained_key> samples,
               uint64_t weights);
  void on_weights(student& who, uint64_t step, uint64_t weights);
  uint64_t skip_void(uint64_t step) const;
  bool was_voided(uint64_t step, const std::vector<trained_key>& samples) const;
  std::vector<trained_key> members_of(const batch_row& row) const;
  void require(bool holds, const std::string& what) const;

  const checked_journal& book_;
  refuse refuse_;
  std::map<uint64_t, uint64_t> weights_after_; ///< By chain hash.
  std::map<uint64_t, std::set<uint64_t>> published_; ///< By version.
  uint64_t steps_ = 0, redone_ = 0;
};

} // namespace swage::test
