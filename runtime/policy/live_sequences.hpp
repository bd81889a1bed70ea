#pragma once

#include "runtime/policy/decoder.hpp"
#include "runtime/policy/generator.hpp"
#include "runtime/policy/torch_policy.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace swage {

/// The sequences that are being decoded, one to a slot of the key-value cache.
class live_sequences {
public:
  live_sequences(decoder& model, const generator_options& options);

  size_t size() const;
  /// Tokens whose cache was computed outside of a step.
  uint64_t prefilled() const { return prefilled_; }
  void cancel(uint64_t id);

  /// With `recompute_cache`, computes the cache of every sequence anew whose
  /// cache is of another version than `version`.
  void refresh(uint64_t version);

  /// Moves requests from the front of `waiting` into free slots. The cache of
  /// a prompt is computed once and copied for equal prompts, as long as it is
  /// of the same version.
  void admit(std::deque<sequence_request>& waiting, uint64_t version);

  /// Decodes one token a sequence and returns those that ended.
  std::vector<sequence_output> step(uint64_t version);

private:
  struct sequence {
    bool live = false;
    sequence_request request;
    std::vector<int32_t> tokens; ///< Prompt and response so far.
    sequence_output out;
    uint32_t limit = 0;          ///< Of response tokens.
    uint64_t prefix_version = 0; ///< That the prompt's cache was computed by.
    uint64_t cache_version = 0;  ///< Of the last `refresh`, or the prompt's.
  };

  void start(sequence& at, sequence_request request, uint64_t version);
  /// A slot that holds the cache of `prompt` under `version`, or -1.
  int32_t donor(const std::vector<int32_t>& prompt, uint64_t version) const;
  /// Computes the cache of the first `count` tokens of each listed slot.
  struct prefill {
    int32_t slot;
    size_t count;
  };
  void fill(std::span<const prefill> slots);
  bool append(sequence& to, std::span<const float> logits, uint64_t version);

  decoder& model_;
  bool recompute_;
  uint32_t max_tokens_;
  kv_cache cache_;
  std::vector<sequence> slots_;
  uint64_t prefilled_ = 0;
};

} // namespace swage
