#include "tests/support/topology_walk.hpp"

#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

fate topology_walk::decide(const passage& one) {
  auto& faults = plan_.faults;
  fate out;
  ++counts_.messages;
  out.delay_s = draw_.between(2e-4, 2e-3);
  const char* told = "";
  if (!calm_ && draw_.chance(faults.lost)) {
    out.lost = true;
    ++counts_.lost;
    told = ", lost";
  } else if (!calm_ && draw_.chance(faults.late)) {
    out.late = true;
    out.delay_s
      = draw_.between(0.01, 2 * plan_.settings.faults.request_timeout_s);
    ++counts_.late;
    told = ", late";
  } else if (!calm_ && draw_.chance(faults.twice)) {
    out.again_after_s = draw_.chance(0.5) ? 1e-6 : draw_.exponential(1);
    ++counts_.twice;
    told = ", twice";
  }
  auto name = [this](uint32_t number) {
    auto* who = find(number);
    return who ? fmt::format("{}/{}", who->who.name, who->who.incarnation)
               : std::string{"?"};
  };
  auto line = fmt::format("{} -> {} {}{}{}", name(one.from), name(one.to),
                          one.is_reply ? "reply " : "", one.what, told);
  if (*told) {
    note(std::move(line));
    for (auto number : {one.from, one.to})
      if (auto* who = find(number))
        hinder(*who, out.delay_s);
  } else {
    trace_.message(now(), std::move(line));
  }
  return out;
}

void topology_walk::plan_blow() {
  at(now() + draw_.exponential(plan_.faults.blow_gap_s), [this] {
    if (calm_ || blows_ >= plan_.faults.blows || head_ended_ >= 0)
      return;
    ++blows_;
    strike();
    plan_blow();
  });
}

void topology_walk::strike() {
  auto* any = some_process(true);
  auto* student = learner();
  switch (draw_.below(12)) {
  case 0:
  case 1:
    if (auto* one = some_process(false)) {
      ++counts_.killed_processes;
      note(one->who.name + " is killed");
      die(*one);
    }
    return;
  case 2:
    if (auto* one = head()) {
      ++counts_.killed_heads;
      note("the head is killed");
      die(*one);
    }
    return;
  case 3:
  case 4:
    return any ? kill_some_actor(*any) : void();
  case 5:
    return cut_some(false);
  case 6:
    return cut_some(true);
  case 7:
    return any ? pause(*any) : void();
  case 8:
    return fill_disk();
  case 9:
    if (student)
      (draw_.chance(0.6) ? student->dies_in_step : student->dies_in_save)
        = true;
    return;
  case 10:
    journal_->die_in_commit(draw_.chance(0.5), [this] {
      if (auto* one = head()) {
        ++counts_.crashed_commits;
        note("the head dies in a transaction");
        die(*one);
      }
    });
    return;
  default:
    if (auto* one = some_process(false))
      replace(one->node);
  }
}

void topology_walk::kill_some_actor(process& one) {
  auto& here = one.spawned.here;
  std::vector<std::pair<std::string, caf::strong_actor_ptr>> all;
  auto add = [&all](const char* what, const auto& who) {
    if (who)
      all.emplace_back(what, caf::actor_cast<caf::strong_actor_ptr>(who));
  };
  add("the node actor", one.spawned.node);
  add("the coordinator", here.coordinator);
  add("the buffer", here.buffer);
  add("the publisher", here.publisher);
  add("the pool", here.pool);
  add("the mirror", here.mirror);
  add("the learner", here.learner);
  for (auto& each : here.rollouts)
    add("a rollout", each);
  auto& [what, who] = all[draw_.below(all.size())];
  ++counts_.killed_actors;
  note(fmt::format("{} of {} is killed", what, one.who.name));
  // Nobody in the process would notice; its parent does not either.
  if (what == "the node actor")
    return die(one);
  caf::anon_send_exit(caf::actor_cast<caf::actor>(who),
                      caf::exit_reason::kill);
}

void topology_walk::pause(process& one) {
  const auto span = draw_.chance(0.3) ? draw_.between(5, 25)
                                      : draw_.between(0.5, 5);
  ++counts_.pauses;
  note(fmt::format("{} does not run for {:.1f} s", one.who.name, span));
  one.paused_until = now() + span;
  hinder(one, span);
  if (one.made.head)
    head_hindered_ = std::max(head_hindered_, one.paused_until);
}

void topology_walk::cut_some(bool isolate) {
  auto* a = some_process(true);
  auto* b = some_process(true);
  if (!a || !b || a == b)
    return;
  ++counts_.cuts;
  const auto way = std::minmax(a->number, b->number);
  net_->cut(a->number, b->number);
  hinder(*a, 0);
  hinder(*b, 0);
  if (!isolate)
    return note(fmt::format("the connection of {} and {} is cut", a->who.name,
                            b->who.name));
  const auto span = draw_.exponential(4);
  note(fmt::format("{} and {} do not reach each other for {:.1f} s",
                   a->who.name, b->who.name, span));
  unreachable_.insert(way);
  hinder(*a, span);
  hinder(*b, span);
  at(now() + span, [this, way = std::pair{way.first, way.second}] {
    unreachable_.erase(way);
  });
}

void topology_walk::fill_disk() {
  if (!memory_)
    return;
  const auto span = draw_.exponential(4);
  ++counts_.full_disks;
  note(fmt::format("the head's disk is full for {:.1f} s", span));
  memory_->full = true;
  at(now() + span, [this] { memory_->full = false; });
}

/// The node is started once more while its process still runs, or hangs.
void topology_walk::replace(size_t node) {
  auto* old = newest(node);
  ++counts_.replaced;
  note(fmt::format("{} is started again beside its process", old->who.name));
  old->replaced = true;
  if (draw_.chance(0.5))
    pause(*old);
  start(node);
}

topology_walk::process* topology_walk::some_process(bool may_be_head) {
  std::vector<process*> all;
  for (auto& one : processes_)
    if (one->alive && !one->finished && !one->dying && !one->replaced
        && (may_be_head || !one->made.head))
      all.push_back(one.get());
  return all.empty() ? nullptr : all[draw_.below(all.size())];
}

topology_walk::process* topology_walk::learner() {
  for (auto& one : processes_)
    if (one->alive && !one->replaced && one->spawned.here.learner)
      return one.get();
  return nullptr;
}

} // namespace swage::test
