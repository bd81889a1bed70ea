#include "tools/swage/policy_parts.hpp"

#include "runtime/policy/torch_policy.hpp"

namespace swage {

policy_factory make_policy_factory(const config& settings) {
  policy_factory out;
  out.make_generator = [settings] {
    generator_options options;
    options.max_live = settings.rollout.max_live;
    options.max_tokens = settings.policy.max_tokens;
    options.recompute_cache = settings.rollout.kv_on_weight_update
                              == "recompute";
    options.threads = settings.rollout.threads;
    return make_generator(settings.policy.path, options, settings.run.seed);
  };
  out.make_trainers = [settings](uint32_t ranks) {
    return make_torch_trainers(settings.policy.path, {}, settings.run.seed,
                               ranks, settings.faults.stall_timeout_s);
  };
  out.make_scorer = [settings] {
    return make_scorer(settings.policy.path, settings.learner.threads);
  };
  return out;
}

} // namespace swage
