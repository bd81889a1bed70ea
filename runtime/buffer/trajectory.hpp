#pragma once

#include "runtime/inspect_enum.hpp"
#include "runtime/verify/verdict.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// `count` tokens in a row were sampled under policy version `version`.
struct version_run {
  uint64_t version = 0;
  uint32_t count = 0;
};

enum class finish_reason : uint8_t { stop, length, cancelled };

constexpr uint8_t num_values(finish_reason) { return 3; }

/// One prompt and one response of a trajectory.
struct turn {
  std::vector<int32_t> prompt;   ///< Token ids.
  std::vector<int32_t> response; ///< Token ids, end-of-text included if sampled.
  std::vector<float> logprobs;   ///< Behaviour log-probability per response token,
                                 ///< at the sampling temperature, untruncated.
  std::vector<version_run> versions; ///< Sums to `response.size()`.
  finish_reason finish = finish_reason::stop;
  std::string text;     ///< The response, decoded.
  verdict outcome;
  double score = 0;     ///< s of Eq. 2.
  std::string feedback; ///< Empty unless a next turn or a repair follows.
};

/// Wall-clock seconds since the Unix epoch at each hop; 0: not reached.
struct hop_times {
  double granted = 0;
  double first_token = 0;
  double last_token = 0;
  double verified = 0;
  double stored = 0;  ///< Written by the buffer.
  double trained = 0; ///< Written by the mirror when it judges.
};

/// What one sample of an item became. Keyed (item, index).
struct trajectory {
  uint64_t item = 0;
  uint32_t index = 0;
  std::vector<turn> turns;
  double ret = 0; ///< R of Eq. 10, or the only turn's score.
  hop_times hops;

  /// Oldest version among all response tokens; 0 if there are none.
  uint64_t oldest_version() const;
  uint64_t newest_version() const;
  /// Memory that it takes, in bytes, roughly.
  size_t bytes() const;
};

template <class Inspector>
bool inspect(Inspector& f, version_run& x) {
  return f.object(x).fields(f.field("version", x.version),
                            f.field("count", x.count));
}

template <class Inspector>
bool inspect(Inspector& f, turn& x) {
  return f.object(x).fields(
    f.field("prompt", x.prompt), f.field("response", x.response),
    f.field("logprobs", x.logprobs), f.field("versions", x.versions),
    f.field("finish", x.finish), f.field("text", x.text),
    f.field("outcome", x.outcome), f.field("score", x.score),
    f.field("feedback", x.feedback));
}

template <class Inspector>
bool inspect(Inspector& f, hop_times& x) {
  return f.object(x).fields(
    f.field("granted", x.granted), f.field("first_token", x.first_token),
    f.field("last_token", x.last_token), f.field("verified", x.verified),
    f.field("stored", x.stored), f.field("trained", x.trained));
}

template <class Inspector>
bool inspect(Inspector& f, trajectory& x) {
  return f.object(x).fields(f.field("item", x.item), f.field("index", x.index),
                            f.field("turns", x.turns), f.field("ret", x.ret),
                            f.field("hops", x.hops));
}

} // namespace swage
