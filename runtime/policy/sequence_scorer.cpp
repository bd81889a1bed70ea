#include "runtime/policy/sequence_scorer.hpp"

#include "runtime/policy/draw.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

// As many rows as keep the layers' activations in the second-level cache.
constexpr size_t chunk_rows = 256;
constexpr int64_t slots = 8;

/// Feeds rows in chunks and collects what they say about the next token.
class scoring {
public:
  scoring(decoder& model, kv_cache& cache, float temperature)
    : model_(model), cache_(cache), temperature_(temperature) {}

  void add(token_row row) {
    rows_.push_back(row);
    if (rows_.size() == chunk_rows)
      flush();
  }

  /// Like `add`; the row's distribution scores `target` into `out`.
  void add(token_row row, int32_t target, float& out) {
    wanted_.push_back({static_cast<int64_t>(rows_.size()), target, &out});
    add(row);
  }

  void flush() {
    if (rows_.empty())
      return;
    model_.forward(rows_, cache_);
    auto vocabulary = static_cast<size_t>(model_.config().vocab_size);
    for (size_t i = 0; i < wanted_.size();) {
      // Rows of one response follow each other: score the run at once.
      size_t end = i + 1;
      while (end < wanted_.size()
             && wanted_[end].row == wanted_[end - 1].row + 1
             && static_cast<int64_t>(end - i) < model_.logit_rows())
        ++end;
      auto logits = model_.logits(wanted_[i].row,
                                  static_cast<int64_t>(end - i));
      for (size_t row = 0; i < end; ++i, ++row)
        *wanted_[i].out = log_probability(
          logits.subspan(row * vocabulary, vocabulary), wanted_[i].target,
          temperature_);
    }
    rows_.clear();
    wanted_.clear();
  }

private:
  struct wanted {
    int64_t row;
    int32_t target;
    float* out;
  };

  decoder& model_;
  kv_cache& cache_;
  float temperature_;
  std::vector<token_row> rows_;
  std::vector<wanted> wanted_;
};

result<size_t> longest(std::span<const scored_sequence> sequences,
                       const model_config& config) {
  size_t out = 0;
  for (auto& sequence : sequences) {
    auto size = sequence.prompt.size() + sequence.response.size();
    if (sequence.prompt.empty())
      return fail(ec::invalid_argument, "cannot score after an empty prompt");
    if (size > static_cast<size_t>(config.max_positions))
      return fail(ec::invalid_argument,
                  fmt::format("cannot score {} tokens: the model has {} "
                              "positions",
                              size, config.max_positions));
    for (auto part : {sequence.prompt, sequence.response})
      if (auto checked = check_tokens(part, config); !checked)
        return tl::unexpected<error>(checked.error());
    out = std::max(out, size);
  }
  return out;
}

} // namespace

result<void> check_tokens(std::span<const int32_t> tokens,
                          const model_config& config) {
  for (auto token : tokens)
    if (token < 0 || token >= config.vocab_size)
      return fail(ec::invalid_argument,
                  fmt::format("token {} is outside the vocabulary of {}", token,
                              config.vocab_size));
  return {};
}

result<std::vector<std::vector<float>>>
sequence_scorer::score(decoder& model,
                       std::span<const scored_sequence> sequences,
                       float temperature) {
  auto length = longest(sequences, model.config());
  if (!length)
    return tl::unexpected<error>(length.error());
  auto tokens = static_cast<int64_t>(*length);
  if (!cache_ || cache_->max_tokens() < tokens)
    cache_ = std::make_unique<kv_cache>(model.config(), slots, tokens);
  std::vector<std::vector<float>> out(sequences.size());
  scoring run{model, *cache_, temperature};
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto& [prompt, response] = sequences[i];
    out[i].resize(response.size());
    auto slot = static_cast<int32_t>(i % slots);
    if (slot == 0)
      run.flush(); // Slots are about to be used again.
    for (size_t p = 0; p + 1 < prompt.size() + response.size(); ++p) {
      token_row row{slot, static_cast<int32_t>(p),
                    p < prompt.size() ? prompt[p]
                                      : response[p - prompt.size()]};
      if (p + 1 < prompt.size())
        run.add(row);
      else
        run.add(row, response[p + 1 - prompt.size()],
                out[i][p + 1 - prompt.size()]);
    }
  }
  run.flush();
  return out;
}

} // namespace swage
