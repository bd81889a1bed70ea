#include "tests/support/training_oracle.hpp"

#include "runtime/buffer/hash_chain.hpp"
#include "runtime/learn/train_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

training_oracle::training_oracle(const checked_journal& book, refuse broken)
  : book_(book), refuse_(std::move(broken)) {
  weights_after_[chain_start] = 0;
}

std::shared_ptr<chained_trainer>
training_oracle::make_trainer(trainer_fate fate) {
  auto made = std::make_shared<chained_trainer>();
  auto who = std::make_shared<student>();
  who->fate = std::move(fate);
  made->on_step = [this, who](auto& samples, uint64_t weights) {
    return on_step(*who, samples, weights);
  };
  made->on_copy = [this, who](uint64_t version, uint64_t weights) {
    on_weights(*who, version, weights);
    published_[version].insert(weights);
  };
  made->on_save = [who](uint64_t) { return who->fate.survives_save(); };
  made->on_load = [this, who](uint64_t step, uint64_t weights) {
    who->at = step;
    on_weights(*who, step, weights);
  };
  return made;
}

std::shared_ptr<chained_generator>
training_oracle::make_generator(uint32_t longest) {
  auto made = std::make_shared<chained_generator>(longest);
  made->on_load = [this](uint64_t version, uint64_t weights) {
    auto found = published_.find(version);
    require(found != published_.end() && found->second.contains(weights),
            fmt::format("a rollout has other weights as version {} than were "
                        "published",
                        version));
  };
  return made;
}

const uint64_t* training_oracle::weights_after(uint64_t chain) const {
  auto found = weights_after_.find(chain);
  return found == weights_after_.end() ? nullptr : &found->second;
}

/// The first batch from `step` on that is not void.
uint64_t training_oracle::skip_void(uint64_t step) const {
  for (auto i = book_.batches().find(step);
       i != book_.batches().end() && i->second.voided; ++i)
    step = i->first + 1;
  return step;
}

/// Whether batch `step` consisted of these samples and was given up since.
bool training_oracle::was_voided(uint64_t step,
                                 const std::vector<trained_key>& samples) const {
  auto found = book_.batches().find(step);
  return found != book_.batches().end() && found->second.voided
         && samples == members_of(found->second);
}

std::vector<trained_key>
training_oracle::members_of(const batch_row& row) const {
  std::vector<trained_key> out;
  for (auto& one : row.members)
    out.emplace_back(static_cast<int32_t>(one.item),
                     book_.mark_of({one.item, one.index}));
  std::sort(out.begin(), out.end());
  return out;
}

bool training_oracle::on_step(student& who, std::vector<trained_key> samples,
                              uint64_t weights) {
  std::sort(samples.begin(), samples.end());
  who.strayed |= was_voided(who.at + 1, samples);
  if (who.strayed)
    return true;
  const auto step = skip_void(who.at + 1);
  auto found = book_.batches().find(step);
  if (found == book_.batches().end()) {
    refuse_(fmt::format("batch {} is trained and not recorded", step));
    return true;
  }
  auto& row = found->second;
  require(samples == members_of(row),
          fmt::format("a learner at step {} trains other samples than batch {} "
                      "consists of",
                      who.at, step));
  if (is_reinforcement(book_.plan()[row.stage].kind))
    for (auto& one : row.members)
      require(book_.judgements().contains({one.item, one.index}),
              fmt::format("sample ({}, {}) is trained in batch {} before its "
                          "judgement is durable",
                          one.item, one.index, step));
  if (!who.fate.survives_step(step))
    return false;
  ++steps_;
  redone_ += row.committed ? 1 : 0;
  who.at = step;
  auto [known, first] = weights_after_.try_emplace(row.hash, weights);
  require(known->second == weights,
          fmt::format("batch {} was trained twice with different outcomes",
                      step));
  return true;
}

/// `who` calls its weights version `step`.
void training_oracle::on_weights(student& who, uint64_t step,
                                 uint64_t weights) {
  if (who.strayed)
    return;
  require(step == who.at || skip_void(who.at + 1) == step + 1,
          fmt::format("weights after batch {} are called version {}", who.at,
                      step));
  who.at = step;
  auto [known, first]
    = weights_after_.try_emplace(book_.hash_at(step), weights);
  require(known->second == weights,
          fmt::format("version {} has other weights than its batches give",
                      step));
}

void training_oracle::require(bool holds, const std::string& what) const {
  if (!holds)
    refuse_(what);
}

} // namespace swage::test
