#include "actors/system.hpp"

#include "actors/embedding.hpp"
#include "actors/local_node.hpp"
#include "actors/network.hpp"
#include "runtime/observe/log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace swage {

namespace {

int report(const error& reason) {
  log_error(reason.message);
  return exit_status(reason.code);
}

/// Ends the process if the rest of it takes too long: a thread that hangs in a
/// compute actor must not keep a run from ending.
class last_resort {
public:
  last_resort(double limit_s, int code)
    : waiter_([this, limit_s, code](std::stop_token stop) {
        std::unique_lock lock{mutex_};
        const auto limit = std::chrono::duration<double>(limit_s);
        if (!over_.wait_for(lock, stop, limit, [] { return false; })
            && !stop.stop_requested()) {
          log_warning("a thread did not end in time; ending without it");
          _exit(code);
        }
      }) {}

private:
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread waiter_;
};

void end_all(const spawned_node& spawned) {
  auto end = [](const auto& who) {
    if (who)
      caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
  };
  end(spawned.node);
  end(spawned.here.coordinator);
  end(spawned.here.learner);
  for (auto& one : spawned.here.ranks)
    end(one);
  end(spawned.here.mirror);
  for (auto& one : spawned.here.rollouts)
    end(one);
  end(spawned.here.pool);
  end(spawned.here.publisher);
  end(spawned.here.buffer);
}

/// What a requested stop does: the head drains the run, another node itself.
void request_drain(const spawned_node& spawned, const config& settings) {
  if (spawned.here.coordinator)
    post_anonymously(spawned.here.coordinator, stop_atom_v);
  else
    post_anonymously(spawned.node, drain_atom_v,
                     settings.faults.drain_timeout_s);
}

} // namespace

int run_prepared(node_materials& made, std::stop_token stop) {
  if (auto good = check_tls(tls_of(made.settings)); !good)
    return report(good.error());
  caf::actor_system_config host;
  configure(host, made.settings);
  // Workers that steal poll for something to steal, which costs a tenth of a
  // core; these sleep until there is work.
  host.set("caf.scheduler.policy", "sharing");
  caf::actor_system sys{host};
  if (auto good = check(sys, made.settings); !good)
    return report(good.error());
  auto spawned = spawn_node(sys, made);
  auto code = 0;
  if (!made.me.address.empty())
    if (auto open = publish_node(sys, made.settings, spawned.node,
                                 made.me.address);
        !open)
      made.outcome->fail(exit_status(open.error().code), open.error().message);
  {
    std::stop_callback on_stop{stop, [&] {
                                 log_info("stopping: draining the run");
                                 request_drain(spawned, made.settings);
                               }};
    code = made.outcome->wait();
  }
  if (code != 0)
    log_error(made.outcome->reason());
  made.report.reset();
  last_resort watch{made.settings.faults.drain_timeout_s, code};
  end_all(spawned);
  spawned = {};
  sys.await_all_actors_done();
  return code;
}

int run_node(const config& settings, const node_options& options,
             std::stop_token stop) {
  // Before what takes long: a restart would only find out again.
  for (auto& node : settings.cluster.nodes)
    if (node.name == options.node)
      if (auto free = check_address(node); !free)
        return report(free.error());
  auto made = prepare_node(settings, options);
  if (!made)
    return report(made.error());
  return run_prepared(*made, stop);
}

} // namespace swage
