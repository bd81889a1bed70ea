#pragma once

#include "runtime/buffer/grant.hpp"
#include "runtime/policy/generator.hpp"
#include "runtime/verify/request.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swage {

/// What a rollout needs beside messages: text and tokens.
struct rollout_tools {
  /// Prompt of the first turn, of a task or of a repair.
  std::function<std::vector<int32_t>(const grant&)> first_prompt;
  /// Prompt of the turn after the last one of `sample`.
  std::function<std::vector<int32_t>(const grant&, const trajectory& sample)>
    next_prompt;
  std::function<std::string(const std::vector<int32_t>&)> decode;
  /// Response tokens of a text, end-of-text included.
  std::function<std::vector<int32_t>(const std::string&)> encode_response;
  /// Solutions of a task for teaching; empty if it has none.
  std::function<std::vector<std::string>(const task&)> solutions;
  std::function<double(const verdict&)> score;
  std::function<std::string(const verdict&, uint32_t round)> feedback;
  /// Return of a trajectory from its turns' scores.
  std::function<double(const std::vector<double>&)> ret;
};

struct rollout_limits {
  uint32_t max_live = 64;     ///< Sequences waiting for or in decoding.
  uint32_t max_tokens = 512;  ///< Prompt and response together.
  uint32_t max_attempts = 3;  ///< Of a candidate whose verdict is `infra`.
};

/// A request for the pool with this number.
struct verify_order {
  uint32_t pool = 0;
  verify_request request;
};

/// Weights that a rollout should pull. Not `exact`: that version or newer.
struct weights_wish {
  uint64_t version = 0;
  bool exact = false;
};

struct submission {
  uint64_t lease = 0;
  trajectory sample;
};

/// A verification whose answer nobody waits for any more.
struct verify_cancel {
  uint32_t pool = 0;
  uint64_t id = 0;
};

/// What the rollout's shell does after an event.
struct rollout_effects {
  std::vector<sequence_request> generate;
  std::vector<uint64_t> cancel; ///< Sequences.
  std::vector<verify_order> verify;
  std::vector<verify_cancel> cancel_verify;
  std::vector<submission> submit;
};

/// Everything that a rollout decides: which samples start under which weights,
/// what waits for a verifier's credit, when a sample has another turn, what is
/// submitted and what is sent again.
///
///   granted -> waiting -> decoding -> judging -> (another turn | submitting)
///              weights               credit                     accepted
///
/// Times are wall-clock seconds and only stamped on the samples.
class rollout_core {
public:
  rollout_core(owner self, rollout_limits limits, rollout_tools tools);

  rollout_effects on_sync(const sync_reply& reply, double now);

  /// The generator has these weights now.
  rollout_effects on_weights(uint64_t version, double now);
  rollout_effects on_generated(std::vector<sequence_output> done, double now);

  /// `pool` gave `credit` more. A pool is known from its first credit on.
  rollout_effects on_credit(uint32_t pool, uint32_t credit);
  rollout_effects on_verdict(uint32_t pool, verify_reply reply, double now);
  /// A verification will not be answered: it is asked elsewhere.
  rollout_effects on_verify_lost(uint32_t pool, uint64_t id);
  /// All its verifications and credits are lost.
  rollout_effects on_pool_down(uint32_t pool);

  /// `lost`: no answer came; the sample is submitted again.
  rollout_effects on_submitted(uint64_t item, uint32_t index,
                               submit_status status);
  rollout_effects on_submit_lost(uint64_t item, uint32_t index);

  /// The next message to the buffer.
  sync_request sync() const;

  /// A hint that `version` can be pulled.
  void on_available(uint64_t version);

  /// Nothing more is asked for; what runs is finished.
  void drain() { draining_ = true; }

  /// The weights that the shell should pull next, if any.
  std::optional<weights_wish> wanted_weights() const;

  uint32_t unused_credit(uint32_t pool) const;
  /// The pool has them again.
  void give_back_credit(uint32_t pool);
  /// Candidates that wait for a credit.
  size_t queued() const;
  size_t decoding() const;
  size_t judging() const;
  size_t submitting() const;
  bool idle() const { return samples_.empty(); }
  bool draining() const { return draining_; }
  uint64_t version() const { return have_; }

private:
  enum class phase : uint8_t { waiting, decoding, queued, judging, submitting };

  struct sample {
    std::shared_ptr<const grant> from;
    trajectory what;
    phase at = phase::waiting;
    uint32_t pool = 0;
    std::optional<uint32_t> avoid; ///< The pool whose verdict was `infra`.
    uint32_t attempts = 0;
    double first_token = 0;
  };

  using key = uint64_t; ///< Of a sample, its sequence and its verification.

  void add(const std::shared_ptr<const grant>& from, uint32_t index,
           double now);
  void start_example(key id, sample& one);
  void start_waiting(rollout_effects& out);
  bool may_start(const grant& from) const;
  void start_turn(key id, sample& one, rollout_effects& out);
  void dispatch(rollout_effects& out);
  std::optional<uint32_t> choose_pool(const sample& one) const;
  void finish_turn(key id, sample& one, verdict outcome, double now,
                   rollout_effects& out);
  void submit(sample& one, rollout_effects& out);
  void drop_lease(uint64_t lease, rollout_effects& out);
  size_t count(phase at) const;
  std::map<key, sample>::iterator find(uint64_t item, uint32_t index);

  owner self_;
  rollout_limits limits_;
  rollout_tools tools_;
  std::map<key, sample> samples_;
  std::deque<key> waiting_; ///< For weights, in the order of their grants.
  std::deque<key> queued_;  ///< For a verifier's credit.
  std::map<uint32_t, uint32_t> credit_;
  key next_ = 1;
  uint64_t have_ = 0;
  bool loaded_ = false;
  uint64_t newest_ = 0;
  bool draining_ = false;
};

} // namespace swage
