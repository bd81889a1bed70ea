#pragma once

#include "actors/coordinator.hpp"
#include "actors/node.hpp"
#include "actors/publisher.hpp"
#include "tests/support/simulation.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swage::test {

/// What a probe buffer was told, and what it answers.
struct buffer_log {
  buffer_status status;
  std::vector<node_id> down;
  bool drained = false;
  std::string end; ///< Why it was drained.
  uint32_t ended_stages = 0;
};

/// A buffer without work: it tells a status and notes what it hears.
struct probe_buffer_state {
  using interface = buffer_actor;
  std::shared_ptr<buffer_log> log; ///< Outlives the test's own variables.

  probe_buffer_state(interface::pointer, std::shared_ptr<buffer_log> log)
    : log(std::move(log)) {}

  interface::behavior_type make_behavior() {
    return {
      [](sync_atom, const sync_request&) { return sync_reply{}; },
      [](submit_atom, const owner&, uint64_t, const trajectory&) {
        return submit_status::superseded;
      },
      [](attach_atom, const owner&) { return attach_reply{}; },
      [](next_batch_atom, uint64_t, uint64_t) { return next_reply{}; },
      [](fetch_atom, uint64_t, uint32_t) { return trajectory{}; },
      [](judgement_atom, const judgement_report&) {},
      [](commit_atom, uint64_t, const step_report&) {},
      [](checkpointed_atom, uint64_t, uint64_t, uint64_t) {},
      [this](owner_down_atom, const node_id& who) { log->down.push_back(who); },
      [this](progress_atom) { return log->status; },
      [this](end_stage_atom) { ++log->ended_stages; },
      [this](drain_atom, const std::string& reason) {
        log->drained = true;
        log->end = reason;
      },
      [](flush_atom) {},
    };
  }
};

/// A rollout that keeps its newest wiring and drains when told.
struct rollout_log {
  rollout_wiring wiring;
  uint32_t wired = 0;
  bool drain_asked = false;
  bool may_drain = true;
};

struct probe_rollout_state {
  using interface = rollout_actor;
  interface::pointer self;
  std::shared_ptr<rollout_log> log; ///< Outlives the test's own variables.

  probe_rollout_state(interface::pointer self,
                      std::shared_ptr<rollout_log> log)
    : self(self), log(std::move(log)) {}

  interface::behavior_type make_behavior() {
    return {
      [this](wire_atom, const rollout_wiring& x) {
        log->wiring = x;
        ++log->wired;
      },
      [](available_atom, uint64_t) {},
      [](rescore_atom, const rescore_request&) { return rescore_reply{}; },
      [](step_atom) {},
      [this](drain_atom, double deadline_s) -> caf::result<void> {
        log->drain_asked = true;
        auto answer = self->make_response_promise<void>();
        if (log->may_drain)
          answer.deliver();
        else
          after(self, deadline_s, [answer]() mutable { answer.deliver(); });
        return answer;
      },
    };
  }
};

/// A learner that keeps its newest wiring.
struct probe_learner_state {
  using interface = learner_actor;
  std::shared_ptr<learner_wiring> wiring; ///< Outlives the test's variables.

  probe_learner_state(interface::pointer, std::shared_ptr<learner_wiring> log)
    : wiring(std::move(log)) {}

  interface::behavior_type make_behavior() {
    return {
      [this](wire_atom, const learner_wiring& x) { *wiring = x; },
      [](advance_atom) {},
      [](stop_atom, double) { return uint64_t{0}; },
    };
  }
};

struct probe_pool_state {
  using interface = verifier_actor;

  explicit probe_pool_state(interface::pointer) {}

  interface::behavior_type make_behavior() {
    return {
      [](verify_atom, const verify_request& x) {
        return verify_reply{x.id, {}, 0};
      },
      [](credit_atom, const owner&, uint32_t, uint32_t) { return 0u; },
      [](cancel_atom, const owner&, uint64_t) {},
      [](drain_atom, double) {},
    };
  }
};

/// A node of a simulated cluster, with what it would report on.
struct cluster_node {
  node_id who;
  node_actor handle;
  local_actors here;
  std::shared_ptr<rollout_log> rollout = std::make_shared<rollout_log>();
  std::shared_ptr<learner_wiring> learner_wired
    = std::make_shared<learner_wiring>();
  std::shared_ptr<progress_board> progress
    = std::make_shared<progress_board>();
  std::shared_ptr<learner_end> learner = std::make_shared<learner_end>();
  std::shared_ptr<run_outcome> outcome = std::make_shared<run_outcome>();
};

/// Nodes in one simulation, "connected" by a table of addresses.
class cluster {
public:
  cluster() {
    settings.faults.stall_timeout_s = 100;
  }

  ~cluster() {
    addresses.clear(); // No handle may outlive the system.
  }

  /// The head runs coordinator, buffer, publisher, a learner and a rollout.
  cluster_node start_head(uint64_t incarnation = 1) {
    cluster_node out;
    out.who = {"head", incarnation};
    coordinator_parts parts;
    parts.limits = {settings.faults.detection_s,
                    settings.faults.stall_timeout_s,
                    settings.faults.drain_timeout_s};
    parts.terms = {out.who, "1", 7, 9, "", {"head", "a", "b"}};
    parts.settings = settings;
    parts.outcome = out.outcome;
    parts.on_line = [this](log_level level, const std::string& x) {
      lines.push_back(x);
      if (level >= log_level::notice)
        console.push_back(x);
    };
    out.here.coordinator = sim.sys.spawn<actor_of<coordinator_state>>(parts);
    out.here.buffer = sim.sys.spawn<actor_of<probe_buffer_state>>(log_);
    out.here.publisher = sim.sys.spawn<actor_of<publisher_state>>(
      publisher_limits{}, uint64_t{1});
    out.here.learner
      = sim.sys.spawn<actor_of<probe_learner_state>>(out.learner_wired);
    start(out);
    return out;
  }

  /// Runs a rollout and a verifier pool.
  cluster_node start_worker(const std::string& name, uint64_t incarnation = 1,
                            uint64_t config_hash = 9) {
    cluster_node out;
    out.who = {name, incarnation};
    out.here.pool = sim.sys.spawn<actor_of<probe_pool_state>>();
    start(out, config_hash);
    return out;
  }

  /// All actors of a node die, and its address answers no more.
  void kill(cluster_node& node) {
    addresses.erase(node.who.name + ":1");
    auto end = [this](const auto& who) {
      if (who)
        caf::anon_send_exit(who, caf::exit_reason::kill);
    };
    end(node.handle);
    end(node.here.coordinator);
    end(node.here.buffer);
    end(node.here.publisher);
    end(node.here.learner);
    end(node.here.pool);
    for (auto& one : node.here.rollouts)
      end(one);
    sim.run();
  }

private:
  std::shared_ptr<buffer_log> log_ = std::make_shared<buffer_log>();

public:
  buffer_log& buffer = *log_;
  config settings;
  std::vector<std::string> lines;   ///< All that the head said.
  std::vector<std::string> console; ///< What of it a person sees.
  /// What a person sees of each node.
  std::map<std::string, std::vector<std::string>> consoles;
  std::map<std::string, node_actor> addresses;
  simulation sim; ///< Last: ends before what its actors refer to.

private:
  void start(cluster_node& node, uint64_t config_hash = 9) {
    node.here.rollouts.push_back(
      sim.sys.spawn<actor_of<probe_rollout_state>>(node.rollout));
    node_parts parts;
    parts.me.who = node.who;
    parts.me.address = node.who.name + ":1";
    parts.me.build = "1";
    parts.me.protocol = 7;
    parts.me.config = config_hash;
    parts.settings = settings;
    parts.here = node.here;
    parts.head_address = "head:1";
    parts.connect = [this](mailbox<node_actor::base>&, const std::string& to,
                           on_connected ok, on_failure failed) {
      auto i = addresses.find(to);
      if (i == addresses.end())
        failed({ec::io, "nobody listens at " + to});
      else
        ok(i->second);
    };
    parts.progress = node.progress;
    parts.learner = node.learner;
    parts.outcome = node.outcome;
    parts.on_line = [this, name = node.who.name](log_level level,
                                                 const std::string& x) {
      if (level >= log_level::notice)
        consoles[name].push_back(x);
    };
    node.handle = sim.sys.spawn<actor_of<node_state>>(parts);
    addresses[parts.me.address] = node.handle;
    sim.advance(0.01);
  }
};

} // namespace swage::test
