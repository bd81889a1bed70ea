#pragma once

#include "runtime/learn/trainer.hpp"
#include "runtime/policy/generator.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace swage::test {

/// A snapshot of these bytes, whose checksum holds.
inline snapshot snapshot_of(uint64_t version, std::vector<std::byte> bytes) {
  auto data = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  snapshot out;
  out.what.version = version;
  out.what.bytes = data->size();
  out.what.checksum = checksum(*data);
  out.data = std::move(data);
  return out;
}

/// One of eight bytes.
inline snapshot tiny_snapshot(uint64_t version) {
  return snapshot_of(version, std::vector<std::byte>(
                                8, static_cast<std::byte>(version)));
}

/// A policy without a network: each response is `length` tokens long, one a
/// step, each stamped with the version in use. For shells in virtual time.
class counting_generator : public generator {
public:
  explicit counting_generator(uint32_t length) : length_(length) {}

  result<void> submit(sequence_request request) override {
    if (request.how.max_new_tokens == 0)
      return fail(ec::invalid_argument, "no room for a response");
    live_[request.id];
    return {};
  }

  void cancel(uint64_t id) override { live_.erase(id); }

  std::vector<sequence_output> step() override {
    std::vector<sequence_output> done;
    for (auto it = live_.begin(); it != live_.end();) {
      auto& one = it->second;
      one.id = it->first;
      one.tokens.push_back(7);
      one.logprobs.push_back(-1);
      if (!one.versions.empty() && one.versions.back().version == version_)
        ++one.versions.back().count;
      else
        one.versions.push_back({version_, 1});
      const auto full = one.tokens.size() == length_;
      if (full)
        done.push_back(std::move(one));
      it = full ? live_.erase(it) : std::next(it);
    }
    return done;
  }

  size_t pending() const override { return live_.size(); }

  result<void> load(const snapshot& weights) override {
    if (!is_whole(weights))
      return fail(ec::corrupt, "torn snapshot");
    version_ = weights.what.version;
    return {};
  }

  uint64_t version() const override { return version_; }

  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float) override {
    std::vector<std::vector<float>> out;
    for (auto& one : sequences)
      out.emplace_back(one.response.size(), -1.f);
    return out;
  }

private:
  uint32_t length_;
  uint64_t version_ = 0;
  std::map<uint64_t, sequence_output> live_;
};

/// Scores every token with `logprob`, whatever the weights.
class constant_scorer : public scorer {
public:
  explicit constant_scorer(float logprob) : logprob_(logprob) {}

  result<void> load(const snapshot& weights) override {
    version_ = weights.what.version;
    return {};
  }

  uint64_t version() const override { return version_; }

  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float) override {
    std::vector<std::vector<float>> out;
    for (auto& one : sequences)
      out.emplace_back(one.response.size(), logprob_);
    return out;
  }

private:
  float logprob_;
  uint64_t version_ = 0;
};

/// Notes what it was asked to do.
class noting_trainer : public trainer {
public:
  result<step_report> step(std::span<const train_sample> samples,
                           const train_options& options) override {
    if (throws)
      throw std::runtime_error{"out of memory"};
    if (!refuse.empty())
      return fail(ec::invalid_argument, refuse);
    log.push_back((options.what == objective::sft ? "sft " : "grpo ")
                  + std::to_string(samples.size()));
    decays.push_back(options.weight_decay);
    threads.push_back(options.threads);
    step_report out;
    out.samples = static_cast<uint32_t>(samples.size());
    out.stepped = true;
    return out;
  }

  snapshot copy_weights(uint64_t version) override {
    return tiny_snapshot(version);
  }

  void set_reference() override { log.push_back("reference"); }
  void reset_optimizer() override { log.push_back("reset"); }

  result<void> save(const std::filesystem::path&) override {
    log.push_back("save");
    return {};
  }

  result<void> load(const std::filesystem::path& from) override {
    log.push_back("load " + from.filename().string());
    if (!refuse_load.empty())
      return fail(ec::corrupt, refuse_load);
    return {};
  }

  std::vector<std::string> log;
  std::vector<double> decays; ///< Of each step.
  std::vector<int> threads; ///< Of each step.
  std::string refuse; ///< Not empty: every step fails with it.
  std::string refuse_load; ///< Not empty: every load fails with it.
  bool throws = false;
};

} // namespace swage::test
