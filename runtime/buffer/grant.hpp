#pragma once

#include "runtime/buffer/owner.hpp"
#include "runtime/buffer/trajectory.hpp"
#include "runtime/inspect_enum.hpp"
#include "runtime/task/task.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// The stages, every one of them a row of the same loop (`stage_plan`).
enum class stage_kind : uint8_t {
  teach,     ///< Synthesised solutions are verified; what passes is collected.
  sft,       ///< Collected examples are trained.
  rft,       ///< The policy's own correct candidates are collected.
  rl_single, ///< One turn.
  rl_multi,  ///< Up to `max_turns`, first-turn tokens trained.
  eval,      ///< Scored, never trained.
};

constexpr uint8_t num_values(stage_kind) { return 6; }

const char* to_string(stage_kind value);
bool from_string(const std::string& text, stage_kind& value);

enum class item_kind : uint8_t { task, repair, example, eval };

constexpr uint8_t num_values(item_kind) { return 4; }

/// `none`: any weights (the response is synthesised). `at_least` / `exactly`:
/// the rollout pulls that version before its first token.
enum class weights_rule : uint8_t { none, at_least, exactly };

constexpr uint8_t num_values(weights_rule) { return 3; }

/// How tokens are drawn. The seed is f(run seed, item, index, turn).
struct sampling {
  float temperature = 1;
  float top_p = 1;
  uint32_t max_new_tokens = 256;
  uint64_t seed = 0; ///< The run's; each sample's own is derived from it.
};

/// One unit of work in the buffer.
struct item {
  uint64_t id = 0;
  uint32_t stage = 0; ///< Index of the stage in the run's plan.
  item_kind kind = item_kind::task;
  std::string task_id;
  /// Repair only: the failed response and its feedback.
  std::string failed_response;
  std::string feedback;
  uint32_t attempts = 0; ///< How often it was granted.
  uint32_t depth = 0;    ///< 0, or 1 + the depth of the item that it repairs.
};

/// Hands one item out. Only the samples named in `missing` are asked for.
struct grant {
  item work;
  task what;
  stage_kind stage = stage_kind::rl_single;
  uint64_t lease = 0;
  std::vector<uint32_t> missing; ///< Sample indexes.
  sampling how;
  weights_rule rule = weights_rule::at_least;
  uint64_t version = 0; ///< Operand of `rule`.
  uint32_t max_turns = 1;
  double ttl_s = 60; ///< Renewed by every `sync` that names the lease.
};

/// A rollout's regular message: renews what it holds, asks for more.
struct sync_request {
  owner from;
  std::vector<uint64_t> held; ///< Leases. Any other of this owner is free at once.
  uint32_t want = 0;          ///< How many samples more it could start.
  uint64_t have = 0;          ///< Version of its weights.
};

struct sync_reply {
  std::vector<grant> grants;
  std::vector<uint64_t> cancelled; ///< Leases whose work is not wanted any more.
  uint64_t newest = 0;             ///< Newest committed version.
  bool draining = false;           ///< The run ends: ask for nothing more.
};

enum class submit_status : uint8_t {
  accepted,
  duplicate,  ///< This sample is stored already; the first one won.
  superseded, ///< The lease is not the item's current one, or the item is closed.
  journal_full,
};

constexpr uint8_t num_values(submit_status) { return 4; }

template <class Inspector>
bool inspect(Inspector& f, sampling& x) {
  return f.object(x).fields(f.field("temperature", x.temperature),
                            f.field("top_p", x.top_p),
                            f.field("max_new_tokens", x.max_new_tokens),
                            f.field("seed", x.seed));
}

template <class Inspector>
bool inspect(Inspector& f, item& x) {
  return f.object(x).fields(
    f.field("id", x.id), f.field("stage", x.stage), f.field("kind", x.kind),
    f.field("task_id", x.task_id),
    f.field("failed_response", x.failed_response),
    f.field("feedback", x.feedback), f.field("attempts", x.attempts),
    f.field("depth", x.depth));
}

template <class Inspector>
bool inspect(Inspector& f, grant& x) {
  return f.object(x).fields(
    f.field("work", x.work), f.field("what", x.what),
    f.field("stage", x.stage), f.field("lease", x.lease),
    f.field("missing", x.missing), f.field("how", x.how),
    f.field("rule", x.rule), f.field("version", x.version),
    f.field("max_turns", x.max_turns), f.field("ttl_s", x.ttl_s));
}

template <class Inspector>
bool inspect(Inspector& f, sync_request& x) {
  return f.object(x).fields(f.field("from", x.from), f.field("held", x.held),
                            f.field("want", x.want), f.field("have", x.have));
}

template <class Inspector>
bool inspect(Inspector& f, sync_reply& x) {
  return f.object(x).fields(
    f.field("grants", x.grants), f.field("cancelled", x.cancelled),
    f.field("newest", x.newest), f.field("draining", x.draining));
}

} // namespace swage
