#include "tests/support/topology_plan.hpp"

#include "tests/support/dice.hpp"
#include "tests/support/some_tasks.hpp"

namespace swage::test {

namespace {

config small_run() {
  config out;
  out.run.stages = {"teach", "sft", "eval-validation", "rl-single", "eval"};
  out.run.checkpoint_interval = 2;
  out.run.keep_last = 2;
  out.tasks.level_weights = {0.5, 0.5};
  out.tasks.solutions_per_task = 2;
  out.policy.max_tokens = 80;
  out.rollout.max_live = 6;
  out.rollout.group_size = 2;
  out.rollout.eval_samples = 2;
  out.rollout.max_new_tokens = 60;
  out.rollout.max_turns = 2;
  out.verifier.trials = 1;
  out.verifier.stress = 0;
  out.verifier.build_timeout_s = 1;
  out.verifier.run_timeout_s = 1;
  out.buffer.groups_per_batch = 2;
  out.buffer.max_staleness = 1;
  out.buffer.lease_ttl_s = 12;
  out.buffer.max_attempts = 12;
  out.buffer.retry_probability = 0.3;
  out.buffer.retry_capacity = 3;
  out.buffer.eval_concurrency = 4;
  out.learner.steps = 4;
  out.learner.sft_steps = 3;
  out.learner.sft_batch = 2;
  out.learner.std_floor = 0.1;
  out.faults.detection_s = 3;
  out.faults.request_timeout_s = 6;
  out.faults.drain_timeout_s = 10;
  out.faults.stall_timeout_s = 400;
  out.weights.chunk_bytes = 16;
  return out;
}

node_config make_node(const std::string& name, actors_config actors) {
  return {name, name + ":1", actors};
}

void spread(topology_plan& out) {
  auto& nodes = out.settings.cluster.nodes;
  const auto r = out.rollouts, v = out.verifiers;
  const actors_config nothing{0, 0, 0}, training{0, 0, 1};
  nodes.clear();
  switch (out.where) {
  case layout::alone:
    out.settings.actors = {r, v, 1};
    return;
  case layout::worker:
    nodes = {make_node("head", training), make_node("work", {r, v, 0})};
    return;
  case layout::apart:
    nodes = {make_node("head", nothing), make_node("learn", training),
             make_node("work", {r, v, 0})};
    return;
  case layout::two_workers:
    nodes = {make_node("head", nothing),
             make_node("learn", {0, v - v / 2, 1}),
             make_node("work-a", {r - r / 2, v / 2, 0}),
             make_node("work-b", {r / 2, 0, 0})};
    return;
  case layout::mixed:
    nodes = {make_node("head", {r / 2, v - v / 2, 1}),
             make_node("work", {r - r / 2, v / 2, 0})};
    return;
  }
}

fault_rates draw_faults(dice& draw) {
  fault_rates out;
  if (draw.chance(0.7)) {
    const auto scale = draw.chance(0.3) ? 0.05 : 0.01;
    out.lost = draw.chance(0.7) ? scale * draw.uniform() : 0;
    out.twice = draw.chance(0.7) ? scale * draw.uniform() : 0;
    out.late = draw.chance(0.7) ? scale * draw.uniform() : 0;
  }
  out.blows = draw.chance(0.8) ? static_cast<uint32_t>(draw.below(12)) : 0;
  out.blow_gap_s = draw.between(0.5, 4);
  out.slow_slot = draw.chance(0.3) ? 0.02 : 0;
  out.slow_disk = draw.chance(0.3) ? 0.004 : 0;
  out.slow_actor = draw.chance(0.3) ? 0.002 : 0;
  out.infra = draw.chance(0.4) ? 0.1 : 0;
  out.deadly = draw.chance(0.15) ? 1 + draw.below(7) : 0;
  out.calm_end = draw.chance(0.6);
  return out;
}

} // namespace

topology_plan quiet_plan(layout where, uint32_t rollouts, uint32_t verifiers) {
  topology_plan out;
  out.where = where;
  out.rollouts = rollouts;
  out.verifiers = verifiers;
  out.settings = small_run();
  out.tasks = {some_tasks("train-", 4), some_tasks("valid-", 2),
               some_tasks("held-", 2)};
  spread(out);
  return out;
}

topology_plan nth_plan(uint64_t seed) {
  dice draw{seed * 2 + 1};
  auto out = quiet_plan(static_cast<layout>(draw.below(num_layouts)),
                        1 + static_cast<uint32_t>(draw.below(3)),
                        1 + static_cast<uint32_t>(draw.below(4)));
  out.seed = seed;
  auto& settings = out.settings;
  settings.run.seed = seed;
  if (draw.chance(0.3))
    settings.run.stages.insert(settings.run.stages.end() - 1, "rl-multi");
  settings.run.checkpoint_interval = 1 + static_cast<uint32_t>(draw.below(3));
  settings.rollout.group_size = 2 + static_cast<uint32_t>(draw.below(2));
  settings.buffer.groups_per_batch = 1 + static_cast<uint32_t>(draw.below(3));
  settings.buffer.max_staleness = static_cast<uint32_t>(draw.below(3));
  settings.buffer.staleness_policy = draw.chance(0.5) ? "wait" : "drop";
  settings.buffer.dynamic_sampling = draw.chance(0.7);
  settings.weights.transport = draw.chance(0.3) ? "message" : "auto";
  settings.learner.steps = 2 + static_cast<uint32_t>(draw.below(4));
  out.faults = draw_faults(draw);
  out.database = draw.chance(0.04);
  return out;
}

} // namespace swage::test
