#include "runtime/policy/cpu_policy.hpp"

#include "runtime/policy/live_sequences.hpp"
#include "runtime/policy/sequence_scorer.hpp"

#include <fmt/format.h>

#include <deque>
#include <utility>

namespace swage {

namespace {

class cpu_generator : public generator {
public:
  cpu_generator(const model_config& config, const generator_options& options,
                parallel_runner parallel)
    : options_(options), model_(config, std::move(parallel)),
      live_(model_, options) {}

  result<void> submit(sequence_request request) override {
    if (request.prompt.empty())
      return fail(ec::invalid_argument,
                  fmt::format("request {} has an empty prompt", request.id));
    if (request.prompt.size() >= options_.max_tokens)
      return fail(
        ec::invalid_argument,
        fmt::format("request {}: a prompt of {} tokens leaves no room "
                    "for a response in max_tokens = {}",
                    request.id, request.prompt.size(), options_.max_tokens));
    if (request.how.max_new_tokens == 0)
      return fail(ec::invalid_argument,
                  fmt::format("request {} asks for no tokens", request.id));
    if (!(request.how.temperature >= 0) || !(request.how.top_p > 0))
      return fail(ec::invalid_argument,
                  fmt::format("request {}: temperature {} and top_p {} must "
                              "not be below zero",
                              request.id, request.how.temperature,
                              request.how.top_p));
    if (auto checked = check_tokens(request.prompt, model_.config()); !checked)
      return checked;
    waiting_.push_back(std::move(request));
    return {};
  }

  void cancel(uint64_t id) override {
    std::erase_if(waiting_, [id](auto& request) { return request.id == id; });
    live_.cancel(id);
  }

  std::vector<sequence_output> step() override {
    live_.refresh(version_);
    live_.admit(waiting_, version_);
    return live_.step(version_);
  }

  size_t pending() const override { return waiting_.size() + live_.size(); }

  result<void> load(const snapshot& weights) override {
    auto loaded = model_.load(weights);
    if (loaded)
      version_ = weights.what.version;
    return loaded;
  }

  uint64_t version() const override { return version_; }

  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences,
        float temperature) override {
    return scorer_.score(model_, sequences, temperature);
  }

private:
  generator_options options_;
  decoder model_;
  live_sequences live_;
  std::deque<sequence_request> waiting_;
  sequence_scorer scorer_;
  uint64_t version_ = 0;
};

class cpu_scorer : public scorer {
public:
  cpu_scorer(const model_config& config, parallel_runner parallel)
    : model_(config, std::move(parallel)) {}

  result<void> load(const snapshot& weights) override {
    auto loaded = model_.load(weights);
    if (loaded)
      version_ = weights.what.version;
    return loaded;
  }

  uint64_t version() const override { return version_; }

  result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences,
        float temperature) override {
    return scorer_.score(model_, sequences, temperature);
  }

private:
  decoder model_;
  sequence_scorer scorer_;
  uint64_t version_ = 0;
};

} // namespace

result<std::unique_ptr<generator>>
make_cpu_generator(const model_config& config, const snapshot& weights,
                   const generator_options& options, parallel_runner parallel) {
  if (options.max_live == 0)
    return fail(ec::invalid_argument, "max_live must be at least 1");
  if (options.max_tokens < 2
      || options.max_tokens > static_cast<uint64_t>(config.max_positions))
    return fail(ec::invalid_argument,
                fmt::format("max_tokens = {} must be between 2 and the model's "
                            "{} positions",
                            options.max_tokens, config.max_positions));
  auto out = std::make_unique<cpu_generator>(config, options,
                                             std::move(parallel));
  if (auto loaded = out->load(weights); !loaded)
    return tl::unexpected<error>(loaded.error());
  return out;
}

result<std::unique_ptr<scorer>> make_cpu_scorer(const model_config& config,
                                                const snapshot& weights,
                                                parallel_runner parallel) {
  auto out = std::make_unique<cpu_scorer>(config, std::move(parallel));
  if (auto loaded = out->load(weights); !loaded)
    return tl::unexpected<error>(loaded.error());
  return out;
}

} // namespace swage
