#include "runtime/config/rules.hpp"

#include "runtime/config/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace swage {

namespace {

bool has_rl(const config& c) {
  return std::ranges::any_of(c.run.stages, [](auto& stage) {
    return stage == "rl-single" || stage == "rl-multi";
  });
}

bool has_stage(const config& c, std::string_view name) {
  return std::ranges::count(c.run.stages, name) > 0;
}

/// A slow link moves this much in a second.
constexpr double slow_link_bytes = 25e6;

/// Tokens of the prompt and the response, log-probability and text.
constexpr double trajectory_bytes_per_token = 16;

bool collects_before_sft(const config& c) {
  auto& stages = c.run.stages;
  auto sft = std::ranges::find(stages, "sft");
  return sft == stages.end() || std::any_of(stages.begin(), sft, [](auto& one) {
           return one == "teach" || one == "rft";
         });
}

/// Two knobs that must agree, or one that must make sense.
struct rule {
  std::string_view left, right; ///< `right` is empty for one alone.
  bool (*holds)(const config&);
  std::string_view why; ///< What must be, and why.
};

constexpr std::array rules = {
  rule{"faults.beat_interval_s", "faults.detection_s",
       [](const config& c) {
         return 2 * c.faults.beat_interval_s <= c.faults.detection_s;
       },
       "a node must miss two beats before it is down, so detection_s is at "
       "least 2 * beat_interval_s"},
  rule{
    "buffer.lease_ttl_s", "faults.detection_s",
    [](const config& c) { return c.faults.detection_s < c.buffer.lease_ttl_s; },
    "a dead node must be seen before its leases end, so lease_ttl_s is "
    "above detection_s"},
  rule{"faults.stall_timeout_s", "buffer.lease_ttl_s",
       [](const config& c) {
         return c.buffer.lease_ttl_s < c.faults.stall_timeout_s;
       },
       "a lost lease must come back before the run counts as stalled, so "
       "stall_timeout_s is above lease_ttl_s"},
  rule{"buffer.poll_hold_s", "faults.request_timeout_s",
       [](const config& c) {
         return c.buffer.poll_hold_s < c.faults.request_timeout_s;
       },
       "an answer must not be held for longer than its asker waits, so "
       "poll_hold_s is below request_timeout_s"},
  rule{"buffer.poll_hold_s", "buffer.lease_ttl_s",
       [](const config& c) {
         return 3 * c.buffer.poll_hold_s < c.buffer.lease_ttl_s;
       },
       "leases are renewed with each request for work, so lease_ttl_s is "
       "above 3 * poll_hold_s"},
  rule{"cluster.max_message_bytes", "faults.detection_s",
       [](const config& c) {
         return static_cast<double>(c.cluster.max_message_bytes)
                <= slow_link_bytes * c.faults.detection_s / 2;
       },
       "a large message blocks the beats behind it, so max_message_bytes is "
       "at most 12500000 * detection_s"},
  rule{"weights.chunk_bytes", "cluster.max_message_bytes",
       [](const config& c) {
         return c.weights.chunk_bytes < c.cluster.max_message_bytes;
       },
       "a chunk of weights is one message, so chunk_bytes is below "
       "max_message_bytes"},
  rule{"policy.max_tokens", "cluster.max_message_bytes",
       [](const config& c) {
         return trajectory_bytes_per_token * c.policy.max_tokens
                  * c.rollout.max_turns
                <= static_cast<double>(c.cluster.max_message_bytes);
       },
       "a trajectory is one message, so 16 * max_tokens * max_turns is at most "
       "max_message_bytes"},
  rule{"policy.max_tokens", "rollout.max_new_tokens",
       [](const config& c) {
         return c.rollout.max_new_tokens < c.policy.max_tokens;
       },
       "the prompt must fit beside the response, so max_new_tokens is below "
       "max_tokens"},
  rule{"learner.micro_batch_tokens", "policy.max_tokens",
       [](const config& c) {
         return c.learner.micro_batch_tokens >= c.policy.max_tokens;
       },
       "one sample must fit into a micro batch, so micro_batch_tokens is at "
       "least max_tokens"},
  rule{"rollout.group_size", "run.stages",
       [](const config& c) { return !has_rl(c) || c.rollout.group_size >= 2; },
       "advantages compare the samples of a group, so group_size is at least "
       "2 where a stage is rl-single or rl-multi"},
  rule{"buffer.min_group", "rollout.group_size",
       [](const config& c) {
         return c.buffer.min_group <= c.rollout.group_size
                || c.buffer.retry_probability == 0;
       },
       "a group cannot have more judged samples than samples, so min_group "
       "is at most group_size"},
  rule{"buffer.max_rollouts_per_batch", "buffer.groups_per_batch",
       [](const config& c) {
         return c.buffer.max_rollouts_per_batch
                >= uint64_t{c.buffer.groups_per_batch} * c.rollout.group_size;
       },
       "a batch needs groups_per_batch * group_size samples, so "
       "max_rollouts_per_batch is at least that"},
  rule{"rollout.max_turns", "run.stages",
       [](const config& c) {
         return !has_stage(c, "rl-multi") || c.rollout.max_turns >= 2;
       },
       "a multi-turn stage needs a second turn, so max_turns is at least 2 "
       "where a stage is rl-multi"},
  rule{"reward.early_bonus_first", "reward.early_bonus_second",
       [](const config& c) {
         return c.reward.early_bonus_first > c.reward.early_bonus_second;
       },
       "success at once must be worth more than a repair, so "
       "early_bonus_first is above early_bonus_second"},
  rule{"learner.seq_mask_delta", "learner.seq_mask",
       [](const config& c) {
         return c.learner.seq_mask_delta > 0 || c.learner.seq_mask != "random";
       },
       "random cannot take its bound from the floor, so seq_mask_delta is "
       "above 0 for it"},
  rule{"learner.seq_mask", "cluster.max_message_bytes",
       [](const config& c) {
         bool by_token = c.learner.seq_mask == "icepop"
                         || c.learner.seq_mask == "tis";
         double tokens = 1.0 * c.buffer.groups_per_batch * c.rollout.group_size
                         * c.rollout.max_new_tokens * c.rollout.max_turns;
         return !by_token || c.cluster.nodes.empty()
                || sizeof(float) * tokens
                     <= static_cast<double>(c.cluster.max_message_bytes);
       },
       "the weights of a batch's tokens are one message between nodes, so 4 * "
       "groups_per_batch * group_size * max_new_tokens * max_turns is at most "
       "max_message_bytes"},
  rule{"cluster.tls_certificate", "cluster.tls_key",
       [](const config& c) {
         return c.cluster.tls_certificate.empty() == c.cluster.tls_key.empty();
       },
       "TLS needs both, or neither"},
  rule{"cluster.tls_ca", "cluster.tls_certificate",
       [](const config& c) {
         return c.cluster.tls_ca.empty() == c.cluster.tls_certificate.empty();
       },
       "TLS needs both, or neither"},
  rule{"verifier.form", "verifier.target",
       [](const config& c) {
         return c.verifier.form == "module" || c.verifier.target == "cpu"
                || c.verifier.target == "cuda-host";
       },
       "function form is for the targets cpu and cuda-host, so form is module for "
       "the others"},
  rule{"tasks.taught", "tasks.train",
       [](const config& c) {
         return c.tasks.suite != "generated" || c.tasks.taught <= c.tasks.train;
       },
       "what is taught are training tasks, so taught is at most train"},
  rule{"tasks.level_weights", "",
       [](const config& c) {
         auto& weights = c.tasks.level_weights;
         return std::accumulate(weights.begin(), weights.end(), 0.0) > 0;
       },
       "tasks of some level must be drawn, so a level_weight is above 0"},
  rule{"tasks.level_weights", "tasks.suite",
       [](const config& c) {
         return c.tasks.suite != "generated"
                || c.tasks.level_weights.size() <= 3;
       },
       "generated tasks have the levels 1 to 3, so level_weights are at most "
       "three"},
  rule{"run.stages", "", collects_before_sft,
       "sft trains what teach or rft collected, so one of them is before it"},
  rule{"run.stages", "tasks.validation",
       [](const config& c) {
         return !has_stage(c, "eval-validation") || c.tasks.validation > 0;
       },
       "an evaluation needs tasks, so validation is above 0 where a stage is "
       "eval-validation"},
  rule{"buffer.retry_probability", "buffer.retry_depth",
       [](const config& c) {
         return c.buffer.retry_probability == 0 || c.buffer.retry_depth > 0;
       },
       "without repairs none can be drawn, so retry_probability is 0 where "
       "retry_depth is"},
  rule{"buffer.retry_probability", "buffer.retry_capacity",
       [](const config& c) {
         return c.buffer.retry_probability == 0 || c.buffer.retry_capacity > 0;
       },
       "without repairs none can be drawn, so retry_probability is 0 where "
       "retry_capacity is"},
};

/// "faults.detection_s = 5 (x.toml:3:1)".
std::string described(std::string_view path, const config& settings,
                      const knob_origins& origins) {
  auto dot = path.find('.');
  auto* row = find_knob(path.substr(0, dot), path.substr(dot + 1));
  auto origin = origins.find(path);
  return fmt::format("{} = {} ({})", path, value_text(*row, settings),
                     origin == origins.end() ? "default" : origin->second);
}

} // namespace

result<void> check_rules(const config& settings, const knob_origins& origins) {
  for (auto& [left, right, holds, why] : rules)
    if (!holds(settings)) {
      auto found = described(left, settings, origins);
      if (!right.empty())
        found += " contradicts " + described(right, settings, origins);
      return fail(ec::invalid_config, fmt::format("{}: {}", found, why));
    }
  return {};
}

} // namespace swage
