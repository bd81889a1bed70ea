#include "tests/support/topology_walk.hpp"

#include "runtime/buffer/seeded.hpp"
#include "runtime/buffer/sqlite_journal.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace swage::test {

namespace {

constexpr uint32_t longest_response = 40; ///< Tokens.

} // namespace

/// A function of the candidate alone, but for what says nothing about it.
verdict topology_walk::judge(const task& what, const std::string& response) {
  verdict out;
  if (!calm_ && draw_.chance(plan_.faults.infra)) {
    out.kind = category::infra_timeout;
    return out;
  }
  const auto luck = uniform(mix({XXH3_64bits(what.id.data(), what.id.size()),
                                 XXH3_64bits(response.data(),
                                             response.size())}));
  out.compiled = true;
  const auto taught = response.starts_with("solution");
  if (luck < (taught ? 0.9 : 0.45)) {
    out.kind = category::ok;
    out.correct = out.legal = true;
    out.pass_fraction = 1;
    out.speedup = 1 + luck;
  } else if (luck < 0.65) {
    out.kind = category::correctness_tolerance;
    out.pass_fraction = luck;
  } else {
    out.kind = category::compile_compiler;
    out.compiled = false;
  }
  return out;
}

void topology_walk::start(size_t node) {
  if (head_ended_ >= 0)
    return;
  auto& one = *processes_.emplace_back(std::make_unique<process>());
  auto& nodes = plan_.settings.cluster.nodes;
  one.node = node;
  one.who = {nodes.empty() ? "head" : nodes[node].name, ++incarnations_[node]};
  one.number = net_->add_process(one.who.name);
  one.started = now();
  note(fmt::format("{} starts, incarnation {}", one.who.name,
                   one.who.incarnation));
  make(one);
  if (violation_.empty())
    spawn(one);
}

void topology_walk::make(process& one) {
  auto& made = one.made;
  auto& nodes = plan_.settings.cluster.nodes;
  made.settings = plan_.settings;
  made.options.out = folder_ / one.who.name;
  made.options.incarnation = one.who.incarnation;
  if (nodes.empty()) {
    made.me.name = "head";
    made.me.actors = plan_.settings.actors;
  } else {
    made.me = nodes[one.node];
  }
  made.head = one.node == 0;
  made.tools = chained_tools();
  auto& counts = made.me.actors;
  for (uint32_t i = 0; i < counts.verifier; ++i)
    made.judges.push_back([this](const verify_request& request,
                                 std::stop_token stop) {
      verdict stopped;
      stopped.detail = "abandoned";
      return stop.stop_requested() ? stopped
                                   : judge(request.what, request.response);
    });
  for (uint32_t i = 0; i < counts.rollout; ++i)
    made.generators.push_back(oracle_->make_generator(longest_response));
  if (counts.learner > 0) {
    made.mirror = std::make_shared<chained_scorer>();
    made.learners = {oracle_->make_trainer(fate_of(one))};
  }
  made.say = [this, name = one.who.name](log_level, const std::string& line) {
    note(name + ": " + line);
  };
  if (made.head)
    open_buffer(one);
}

trainer_fate topology_walk::fate_of(process& one) {
  trainer_fate out;
  out.survives_step = [this, &one](uint64_t step) {
    const auto deadly = !calm_ && step == plan_.faults.deadly;
    if (!deadly && !std::exchange(one.dies_in_step, false))
      return true;
    ++counts_.crashed_steps;
    note(fmt::format("{} dies in batch {}", one.who.name, step));
    die(one);
    return false;
  };
  out.survives_save = [this, &one] {
    if (!std::exchange(one.dies_in_save, false))
      return true;
    ++counts_.crashed_saves;
    note(fmt::format("{} dies in a checkpoint", one.who.name));
    die(one);
    return false;
  };
  return out;
}

void topology_walk::open_buffer(process& one) {
  journal_->close();
  if (plan_.database) {
    auto opened = sqlite_journal::open(folder_ / "run.db");
    if (!opened)
      return refuse("run.db cannot be opened: " + opened.error().message);
    journal_->open(std::move(*opened));
  } else {
    if (!memory_)
      memory_ = std::make_shared<memory_journal>();
    memory_->recover();
    memory_->full = false;
    journal_->open(memory_);
  }
  auto core = buffer_core::open(journal_, plan_.settings, plan_.tasks, now());
  if (!core)
    return refuse("the journal is refused: " + core.error().message);
  one.made.buffer = std::move(*core);
  head_hindered_ = now();
}

void topology_walk::spawn(process& one) {
  one.after = sim_.sys.latest_actor_id();
  one.connector = net_->spawn_connector(one.number);
  one.made.connect = [via = one.connector,
                      limit = plan_.settings.faults.request_timeout_s](
                       mailbox<node_actor::base>& mail,
                       const std::string& address, on_connected ok,
                       on_failure failed) {
    mail.ask(
      via, limit,
      [ok](const caf::strong_actor_ptr& who) {
        ok(caf::actor_cast<node_actor>(who));
      },
      failed, caf::connect_atom_v, address);
  };
  one.spawned = spawn_node(sim_.sys, one.made);
  one.last = sim_.sys.latest_actor_id();
  net_->own(one.number, one.after, one.last);
  auto is = [&one](const auto& who, work what) {
    if (who)
      one.works[who.id()] = what;
  };
  auto& here = one.spawned.here;
  is(one.connector, work::light);
  is(one.spawned.node, work::light);
  is(here.coordinator, work::light);
  is(here.buffer, work::buffer);
  is(here.publisher, work::light);
  is(here.pool, work::light);
  is(here.mirror, work::mirror);
  is(here.learner, work::learner);
  for (auto& each : here.rollouts)
    is(each, work::rollout);
  if (!one.made.me.address.empty())
    net_->publish(one.made.me.address, one.number, one.spawned.node);
}

/// The process dies in what it does: nothing more leaves it, and it is gone
/// as soon as the present job is over.
void topology_walk::die(process& one) {
  one.dying = true;
  net_->cut_all(one.number);
}

void topology_walk::kill(process& one) {
  one.alive = false;
  died_[{one.who.name, one.who.incarnation}] = now();
  net_->cut_all(one.number);
  auto& here = one.spawned.here;
  auto end = [](const auto& who) {
    if (who)
      caf::anon_send_exit(who, caf::exit_reason::kill);
  };
  end(one.spawned.node);
  end(here.coordinator);
  end(here.learner);
  end(here.mirror);
  for (auto& each : here.rollouts)
    end(each);
  end(here.pool);
  end(here.publisher);
  end(here.buffer);
  end(one.connector);
  one.spawned = {};
  one.connector = nullptr;
  one.made = {};
  // The exits come first in each mailbox, and nothing else runs in between.
  auto& jobs = sim_.scheduler().jobs;
  auto is_own = [this, &one](caf::resumable* job) {
    auto* who = dynamic_cast<caf::scheduled_actor*>(job);
    return who && net_->process_of(who->id()) == one.number;
  };
  for (;;) {
    auto found = std::find_if(jobs.begin(), jobs.end(), is_own);
    if (found == jobs.end())
      return;
    run_job(static_cast<size_t>(found - jobs.begin()));
  }
}

void topology_walk::restart_later(process& one) {
  at(now() + draw_.between(0.3, 3), [this, node = one.node] {
    ++counts_.restarts;
    start(node);
  });
}

/// What the parent of each process does.
void topology_walk::supervise() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    auto& one = *processes_[i];
    if (!one.alive || one.finished)
      continue;
    if (one.dying) {
      kill(one);
      if (!one.replaced)
        restart_later(one);
    } else if (one.made.outcome->ended()) {
      on_end(one);
    }
  }
}

void topology_walk::on_end(process& one) {
  const auto code = one.made.outcome->code();
  const auto reason = one.made.outcome->reason();
  note(fmt::format("{} ends with code {} {}", one.who.name, code, reason));
  if (reason.find("fenced") != std::string::npos)
    ++counts_.fenced;
  if (one.replaced) {
    kill(one);
  } else if (code == 0) {
    one.finished = true;
    if (one.node == 0)
      head_ended_ = now();
    if (!lingers_)
      kill(one);
  } else if (code != 3 || !plan_.faults.any()) {
    refuse(fmt::format("node {} ended with code {}: {}", one.who.name, code,
                       reason));
  } else {
    kill(one);
    restart_later(one);
  }
}

topology_walk::process* topology_walk::head() {
  return newest(0);
}

topology_walk::process* topology_walk::newest(size_t node) {
  for (auto i = processes_.rbegin(); i != processes_.rend(); ++i)
    if ((*i)->node == node && (*i)->alive && !(*i)->replaced)
      return i->get();
  return nullptr;
}

topology_walk::process* topology_walk::find(uint32_t number) {
  for (auto& one : processes_)
    if (one->number == number)
      return one.get();
  return nullptr;
}

} // namespace swage::test
