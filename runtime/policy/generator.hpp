#pragma once

#include "runtime/buffer/grant.hpp"
#include "runtime/buffer/trajectory.hpp"
#include "runtime/error.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace swage {

/// One response to be generated.
struct sequence_request {
  uint64_t id = 0;             ///< Chosen by the caller, unique while it lives.
  std::vector<int32_t> prompt; ///< Token ids, not empty.
  sampling how;
  uint64_t seed = 0;           ///< Of this sample alone: `sample_seed(...)`.
};

/// A finished response.
struct sequence_output {
  uint64_t id = 0;
  std::vector<int32_t> tokens; ///< End-of-text included if it was sampled.
  std::vector<float> logprobs; ///< One a token, at the sampling temperature,
                               ///< over the untruncated distribution.
  std::vector<version_run> versions; ///< Stamped when the forward pass ran.
  finish_reason finish = finish_reason::stop;
};

/// A sequence to be scored: log-probabilities of `response` after `prompt`.
struct scored_sequence {
  std::span<const int32_t> prompt;
  std::span<const int32_t> response;
};

/// Generates responses by continuous batching: a step machine.
/// Not thread-safe: one actor owns it.
class generator {
public:
  virtual ~generator() = default;

  /// Queues a response. Requests with equal prompts that wait together share
  /// the prompt's key-value cache.
  virtual result<void> submit(sequence_request request) = 0;

  /// Drops a queued or live sequence. Unknown ids are ignored.
  virtual void cancel(uint64_t id) = 0;

  /// Decodes one token for every live sequence and returns the finished ones.
  virtual std::vector<sequence_output> step() = 0;

  /// Sequences queued or live.
  virtual size_t pending() const = 0;

  /// Swaps the weights whole between two steps, after checking the checksum.
  virtual result<void> load(const snapshot& weights) = 0;

  /// Version of the weights in use.
  virtual uint64_t version() const = 0;

  /// Log-probabilities of each response token at `temperature` under the
  /// weights in use, by the same path that generates.
  virtual result<std::vector<std::vector<float>>>
  score(std::span<const scored_sequence> sequences, float temperature) = 0;
};

/// The seed of one sample's draws: f(run seed, item, index, turn), so that no
/// two ranks draw the same sample and a re-issued item is not a copy.
uint64_t sample_seed(uint64_t run_seed, uint64_t item, uint32_t index,
                     uint32_t turn);

} // namespace swage
