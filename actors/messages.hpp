#pragma once

#include "runtime/buffer/batch.hpp"
#include "runtime/buffer/grant.hpp"
#include "runtime/buffer/progress.hpp"
#include "runtime/cluster/node_info.hpp"
#include "runtime/verify/request.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// What travels between actors and is not vocabulary of a station already.

/// One sequence whose response is to be scored.
struct token_sequence {
  std::vector<int32_t> prompt;
  std::vector<int32_t> response;
};

/// Asks a rollout for log-probabilities of its own samples at its own version.
struct rescore_request {
  uint64_t version = 0; ///< Answered with `stale` if the rollout has another.
  float temperature = 1;
  std::vector<token_sequence> sequences;
};

struct rescore_reply {
  uint64_t version = 0;
  std::vector<std::vector<float>> logprobs; ///< Parallel to the sequences.
};

/// Judgements of one batch and what they add up to, stored before the learner
/// may train it.
struct judgement_report {
  uint64_t epoch = 0;
  std::vector<judgement> judgements;
  drift_report drift;
};

/// The right to pull one version in chunks until it is closed or times out.
struct pull_ticket {
  uint64_t id = 0;
  manifest what;
  uint64_t chunk_bytes = 0;
  uint32_t chunks = 0;
};

/// Bytes [index * chunk_bytes, ...) of a snapshot's flat buffer. A string,
/// because CAF copies a string whole and a vector element by element.
struct weight_chunk {
  uint32_t index = 0;
  std::string bytes;
};

/// Where the run is, and the version that an evaluation in progress needs.
struct buffer_status {
  buffer_progress progress;
  bool pinned = false; ///< Whether `version` counts.
  uint64_t version = 0;
};

template <class Inspector>
bool inspect(Inspector& f, token_sequence& x) {
  return f.object(x).fields(f.field("prompt", x.prompt),
                            f.field("response", x.response));
}

template <class Inspector>
bool inspect(Inspector& f, rescore_request& x) {
  return f.object(x).fields(f.field("version", x.version),
                            f.field("temperature", x.temperature),
                            f.field("sequences", x.sequences));
}

template <class Inspector>
bool inspect(Inspector& f, rescore_reply& x) {
  return f.object(x).fields(f.field("version", x.version),
                            f.field("logprobs", x.logprobs));
}

template <class Inspector>
bool inspect(Inspector& f, judgement_report& x) {
  return f.object(x).fields(f.field("epoch", x.epoch),
                            f.field("judgements", x.judgements),
                            f.field("drift", x.drift));
}

template <class Inspector>
bool inspect(Inspector& f, pull_ticket& x) {
  return f.object(x).fields(
    f.field("id", x.id), f.field("what", x.what),
    f.field("chunk_bytes", x.chunk_bytes), f.field("chunks", x.chunks));
}

template <class Inspector>
bool inspect(Inspector& f, weight_chunk& x) {
  return f.object(x).fields(f.field("index", x.index),
                            f.field("bytes", x.bytes));
}

template <class Inspector>
bool inspect(Inspector& f, buffer_status& x) {
  return f.object(x).fields(f.field("progress", x.progress),
                            f.field("pinned", x.pinned),
                            f.field("version", x.version));
}

} // namespace swage
