#pragma once

#include "runtime/buffer/grant.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// One sample in a recorded batch; its payload is fetched by key.
struct batch_member {
  uint64_t item = 0;
  uint32_t index = 0;
  item_kind kind = item_kind::task;
};

/// The mirror's judgement of one sample of a batch, durable on its row.
struct judgement {
  uint64_t step = 0;
  uint64_t item = 0;
  uint32_t index = 0;
  double mean_abs = 0;    ///< mean_t |log rho_t| over trained tokens (Eq. 18).
  double mean_signed = 0; ///< mean_t log rho_t.
  double floor = 0;       ///< The edge's measured numerical floor.
  uint64_t staleness = 0; ///< (step - 1) - oldest version of its trained tokens.
  bool kept = true;
  /// One a trained token, turn after turn; empty: 1 each.
  std::vector<float> weights;
};

/// A recorded batch: its number and its members, durable before anyone trains.
struct batch {
  uint64_t step = 0; ///< From 1; training it produces version `step`.
  uint32_t stage = 0;
  stage_kind kind = stage_kind::rl_single;
  bool begins_stage = false; ///< The first of its stage.
  bool voided = false; ///< Trains nothing: its learner died in it too often.
  bool redo = false;   ///< Committed before; recorded judgements apply.
  std::vector<batch_member> members; ///< Sorted by (item, index).
  uint64_t hash = 0;   ///< h_step of the chain.
  /// How far its stage is, 0 to 1 once this batch is trained: schedules use it.
  double progress = 0;
  /// Parallel to `members` if every one was judged already, else empty. Whoever
  /// gets it applies it and does not judge anew: a redo uses the recorded mask.
  std::vector<judgement> recorded;
};

/// What the learner pulls from the mirror.
struct judged_batch {
  batch what;
  std::vector<trajectory> samples;   ///< Parallel to `what.members`.
  std::vector<judgement> judgements; ///< Parallel; empty for unjudged stages.
};

/// Summary of a step's drift, for the record and for people.
struct drift_report {
  uint64_t step = 0;
  double mean_abs_p50 = 0, mean_abs_p90 = 0, mean_abs_max = 0;
  double mean_signed_p50 = 0;
  double floor = 0;
  double staleness_mean = 0;
  uint64_t staleness_max = 0;
  uint32_t samples = 0;
  uint32_t masked_positive = 0; ///< Masked, by the sign of the advantage.
  uint32_t masked_negative = 0;
  uint32_t masked_zero = 0;
  double delta = 0; ///< The bound that was applied; 0: it is by token.
  uint64_t tokens = 0; ///< That were weighed, those of weight 0 among them,
  uint64_t masked_tokens = 0;
  uint64_t capped_tokens = 0; ///< and those whose ratio was cut to the cap.
};

/// What one training step did.
struct step_report {
  uint64_t step = 0;
  stage_kind kind = stage_kind::rl_single;
  double loss = 0;
  double grad_norm = 0;
  double lr = 0;
  double clip_fraction = 0;
  double entropy = 0;
  double mean_return = 0;
  double mean_abs_log_ratio = 0;
  /// The same of on-policy tokens: the numerical floor of rollout to learner.
  double floor = 0;
  uint64_t floor_tokens = 0; ///< 0: nothing was on-policy, no floor was seen.
  uint64_t tokens = 0;
  uint32_t samples = 0;
  uint32_t kept = 0;
  bool stepped = false; ///< False: masked whole, same weights under a new number.
  double wait_s = 0;    ///< Waiting for the batch.
  double train_s = 0;
  double publish_s = 0;
};

enum class next_status : uint8_t { ready, nothing, stage_over, run_over, fenced };

constexpr uint8_t num_values(next_status) { return 5; }

struct next_reply {
  next_status status = next_status::nothing;
  batch what;
};

struct judged_reply {
  next_status status = next_status::nothing;
  judged_batch what;
};

/// What a learner is told when it attaches.
struct attach_reply {
  uint64_t epoch = 0;
  uint64_t last_batch = 0;      ///< Newest recorded.
  uint64_t last_committed = 0;
  std::vector<uint64_t> hashes; ///< h_1 .. h_last_batch.
};

template <class Inspector>
bool inspect(Inspector& f, batch_member& x) {
  return f.object(x).fields(f.field("item", x.item), f.field("index", x.index),
                            f.field("kind", x.kind));
}

template <class Inspector>
bool inspect(Inspector& f, judgement& x) {
  return f.object(x).fields(
    f.field("step", x.step), f.field("item", x.item),
    f.field("index", x.index), f.field("mean_abs", x.mean_abs),
    f.field("mean_signed", x.mean_signed), f.field("floor", x.floor),
    f.field("staleness", x.staleness), f.field("kept", x.kept),
    f.field("weights", x.weights));
}

template <class Inspector>
bool inspect(Inspector& f, batch& x) {
  return f.object(x).fields(
    f.field("step", x.step), f.field("stage", x.stage),
    f.field("kind", x.kind), f.field("begins_stage", x.begins_stage),
    f.field("voided", x.voided), f.field("redo", x.redo),
    f.field("members", x.members), f.field("hash", x.hash),
    f.field("progress", x.progress), f.field("recorded", x.recorded));
}

template <class Inspector>
bool inspect(Inspector& f, judged_batch& x) {
  return f.object(x).fields(f.field("what", x.what),
                            f.field("samples", x.samples),
                            f.field("judgements", x.judgements));
}

template <class Inspector>
bool inspect(Inspector& f, drift_report& x) {
  return f.object(x).fields(
    f.field("step", x.step), f.field("mean_abs_p50", x.mean_abs_p50),
    f.field("mean_abs_p90", x.mean_abs_p90),
    f.field("mean_abs_max", x.mean_abs_max),
    f.field("mean_signed_p50", x.mean_signed_p50), f.field("floor", x.floor),
    f.field("staleness_mean", x.staleness_mean),
    f.field("staleness_max", x.staleness_max), f.field("samples", x.samples),
    f.field("masked_positive", x.masked_positive),
    f.field("masked_negative", x.masked_negative),
    f.field("masked_zero", x.masked_zero), f.field("delta", x.delta),
    f.field("tokens", x.tokens), f.field("masked_tokens", x.masked_tokens),
    f.field("capped_tokens", x.capped_tokens));
}

template <class Inspector>
bool inspect(Inspector& f, step_report& x) {
  return f.object(x).fields(
    f.field("step", x.step), f.field("kind", x.kind), f.field("loss", x.loss),
    f.field("grad_norm", x.grad_norm), f.field("lr", x.lr),
    f.field("clip_fraction", x.clip_fraction), f.field("entropy", x.entropy),
    f.field("mean_return", x.mean_return),
    f.field("mean_abs_log_ratio", x.mean_abs_log_ratio),
    f.field("floor", x.floor), f.field("floor_tokens", x.floor_tokens),
    f.field("tokens", x.tokens), f.field("samples", x.samples),
    f.field("kept", x.kept), f.field("stepped", x.stepped),
    f.field("wait_s", x.wait_s), f.field("train_s", x.train_s),
    f.field("publish_s", x.publish_s));
}

template <class Inspector>
bool inspect(Inspector& f, next_reply& x) {
  return f.object(x).fields(f.field("status", x.status),
                            f.field("what", x.what));
}

template <class Inspector>
bool inspect(Inspector& f, judged_reply& x) {
  return f.object(x).fields(f.field("status", x.status),
                            f.field("what", x.what));
}

template <class Inspector>
bool inspect(Inspector& f, attach_reply& x) {
  return f.object(x).fields(
    f.field("epoch", x.epoch), f.field("last_batch", x.last_batch),
    f.field("last_committed", x.last_committed), f.field("hashes", x.hashes));
}

} // namespace swage
