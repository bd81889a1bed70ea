#include "actors/local_node.hpp"

#include "actors/buffer.hpp"
#include "actors/coordinator.hpp"
#include "actors/embedding.hpp"
#include "actors/learner.hpp"
#include "actors/learner_rank.hpp"
#include "actors/mirror.hpp"
#include "actors/network.hpp"
#include "actors/publisher.hpp"
#include "actors/rollout.hpp"
#include "actors/verifier.hpp"
#include "runtime/config/config_text.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace swage {

namespace {

double wall_clock_s() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

node_id id_of(const node_materials& from) {
  return {from.me.name, from.options.incarnation};
}

owner owner_of(const node_materials& from, uint32_t actor) {
  return {from.me.name, from.options.incarnation, actor};
}

std::vector<rollout_actor> spawn_rollouts(caf::actor_system& sys,
                                          node_materials& from) {
  std::vector<rollout_actor> out;
  for (uint32_t i = 0; i < from.generators.size(); ++i) {
    rollout_parts parts{owner_of(from, i),
                        from.generators[i],
                        from.tools,
                        from.settings,
                        from.progress->add("rollout", i),
                        from.gate,
                        wall_clock_s};
    out.push_back(spawn_compute<rollout_state>(sys, std::move(parts)));
  }
  return out;
}

void spawn_learner(caf::actor_system& sys, node_materials& from,
                   local_actors& here) {
  auto& settings = from.settings;
  publisher_limits limits;
  limits.chunk_bytes = settings.weights.chunk_bytes;
  here.publisher = sys.spawn<actor_of<publisher_state>>(
    limits, from.options.incarnation);
  here.mirror = spawn_compute<mirror_state>(
    sys, mirror_parts{from.mirror, settings, from.progress->add("mirror", 0),
                      [report = from.report](const drift_report& one) {
                        if (report)
                          report->on_drift(one);
                      }});
  // No copies stay here: a trainer goes with its actor, which the ranks that
  // wait for it see at once.
  auto models = std::exchange(from.learners, {});
  for (uint32_t i = 1; i < models.size(); ++i)
    here.ranks.push_back(spawn_compute<learner_rank_state>(
      sys, rank_parts{std::move(models[i]), settings,
                      from.progress->add("learner", i)}));
  learner_parts parts{
    owner_of(from, 0),
    std::move(models.front()),
    here.ranks,
    checkpoint_store{from.options.out / "checkpoints", settings.run.keep_last},
    settings,
    from.progress->add("learner", 0),
    [report = from.report](const step_report& one) {
      if (report)
        report->on_step(one);
    },
    [end = from.end](std::optional<std::string> why) {
      end->set(std::move(why));
    }};
  here.learner = spawn_compute<learner_state>(sys, std::move(parts));
}

void spawn_head(caf::actor_system& sys, node_materials& from,
                local_actors& here) {
  auto& settings = from.settings;
  auto told = [say = from.say](const error* trouble) {
    if (trouble)
      say(log_level::error,
          "the journal cannot be written: " + trouble->message);
    else
      say(log_level::info, "the journal is written again");
  };
  here.buffer = sys.spawn<actor_of<buffer_state>>(buffer_parts{
    from.buffer, settings.buffer.poll_hold_s, wall_clock_s, told});
  coordinator_parts parts;
  parts.limits = {settings.faults.detection_s,
                  settings.faults.stall_timeout_s,
                  settings.faults.drain_timeout_s};
  parts.terms = {id_of(from),           build_version(),
                 protocol_hash(),       config_hash(settings),
                 config_text(settings), {}};
  for (auto& node : settings.cluster.nodes)
    parts.terms.names.push_back(node.name);
  if (parts.terms.names.empty())
    parts.terms.names.push_back(from.me.name);
  parts.settings = settings;
  parts.outcome = from.outcome;
  if (from.report)
    parts.on_status = [report = from.report](const run_status& status) {
      report->on_status(status);
    };
  parts.on_line = from.say;
  here.coordinator = sys.spawn<actor_of<coordinator_state>>(std::move(parts));
}

std::string head_address(const config& settings) {
  for (auto& node : settings.cluster.nodes)
    if (node.name == settings.cluster.head)
      return node.address;
  return {};
}

} // namespace

spawned_node spawn_node(caf::actor_system& sys, node_materials& from) {
  spawned_node out;
  if (from.head)
    spawn_head(sys, from, out.here);
  if (!from.judges.empty())
    out.here.pool = spawn_verifiers(sys, from.judges, from.settings.verifier,
                                    *from.progress);
  if (!from.generators.empty())
    out.here.rollouts = spawn_rollouts(sys, from);
  if (!from.learners.empty())
    spawn_learner(sys, from, out.here);
  node_parts parts;
  parts.me.who = id_of(from);
  parts.me.address = from.me.address;
  parts.me.rollouts = from.me.actors.rollout;
  parts.me.verifiers = from.me.actors.verifier;
  parts.me.learners = from.me.actors.learner;
  parts.me.build = build_version();
  parts.me.protocol = protocol_hash();
  parts.me.config = config_hash(from.settings);
  parts.settings = from.settings;
  parts.here = out.here;
  parts.head_address = head_address(from.settings);
  parts.connect = from.connect ? from.connect
                               : make_connect(sys, from.settings);
  parts.progress = from.progress;
  parts.learner = from.end;
  parts.outcome = from.outcome;
  parts.on_line = from.say;
  out.node = sys.spawn<actor_of<node_state>>(std::move(parts));
  return out;
}

} // namespace swage
