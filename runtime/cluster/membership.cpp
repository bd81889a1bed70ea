#include "runtime/cluster/membership.hpp"

#include "runtime/config/config_text.hpp"
#include "runtime/config/load_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swage {

namespace {

/// Two ticks further apart than this: this process was stopped in between.
constexpr double late_s = 2;
/// The same refusal is repeated to people no more often than this.
constexpr double refusal_pause_s = 60;

/// The knobs in which two configurations differ, with both values; empty where
/// none does, or one cannot be read.
std::string differences(const std::string& head, const std::string& node,
                        const std::string& name) {
  constexpr size_t most = 5, longest = 120;
  auto ours = parse_config(head, "head"), theirs = parse_config(node, "node");
  if (!ours || !theirs)
    return {};
  auto found = config_differences(*ours, *theirs);
  std::string text;
  for (size_t i = 0; i < std::min(most, found.size()); ++i)
    text += fmt::format("{}{} is {:.{}} on the head and {:.{}} on node {}",
                        i == 0 ? "" : ", ", found[i].path, found[i].left,
                        longest, found[i].right, longest, name);
  if (found.size() > most)
    text += fmt::format(", and {} more differ", found.size() - most);
  return text;
}

} // namespace

membership::membership(membership_limits limits, membership_terms terms)
  : limits_(limits), terms_(std::move(terms)) {
  map_.generation = 1;
}

std::string membership::objection(const node_info& node,
                                  const std::string& config) const {
  auto& known = terms_.names;
  if (std::find(known.begin(), known.end(), node.who.name) == known.end())
    return fmt::format("the head's configuration has no node \"{}\"; it has {}",
                       node.who.name, fmt::join(known, ", "));
  if (node.build != terms_.build)
    return fmt::format("the head runs build {}, this node build {}; install "
                       "the same one on both",
                       terms_.build, node.build);
  if (node.protocol != terms_.protocol)
    return fmt::format("the head speaks protocol {:016x}, this node {:016x}; "
                       "install the same build on both",
                       terms_.protocol, node.protocol);
  if (node.config != terms_.config) {
    auto what = differences(terms_.config_text, config, node.who.name);
    if (what.empty())
      what = fmt::format("{:016x} on the head and {:016x} on node {}",
                         terms_.config, node.config, node.who.name);
    return fmt::format("its configuration differs: {}; start all with the same "
                       "file and the same --set, or with the config.toml of "
                       "the head's run folder",
                       what);
  }
  auto i = members_.find(node.who.name);
  if (i != members_.end()
      && i->second.info.who.incarnation > node.who.incarnation)
    return fmt::format("a newer process of node \"{}\" is in the run",
                       node.who.name);
  return {};
}

std::pair<join_reply, membership_effects>
membership::on_join(const node_info& node, double now,
                    const std::string& config) {
  join_reply reply;
  membership_effects out;
  reply.reason = objection(node, config);
  reply.config = terms_.config_text;
  // The head has what must be drained, however early the end came.
  reply.ending = reply.reason.empty() && draining() && node.who != terms_.head;
  if (reply.ending)
    return {std::move(reply), std::move(out)};
  if (!reply.reason.empty()) {
    refuse(node.who.name, reply.reason, now, out);
    return {std::move(reply), std::move(out)};
  }
  auto i = members_.find(node.who.name);
  auto again = i != members_.end() && i->second.info.who == node.who;
  if (i != members_.end() && !again)
    remove(i->second.info.who, "it was started again", out);
  if (!again) {
    auto& one = members_[node.who.name];
    one.info = node;
    redraw();
    auto& told = node.who == terms_.head ? out.lines : out.notices;
    told.push_back(fmt::format(
      "node {} joined with {} rollouts, {} verifiers, {} learners",
      node.who.name, node.rollouts, node.verifiers, node.learners));
  }
  members_[node.who.name].seen = now;
  reply.admitted = true;
  reply.where = map_;
  return {std::move(reply), std::move(out)};
}

std::pair<beat_reply, membership_effects>
membership::on_beat(const beat_report& beat, double now) {
  beat_reply reply;
  membership_effects out;
  reply.draining = draining();
  auto i = members_.find(beat.who.name);
  if (i == members_.end() || i->second.info.who != beat.who) {
    reply.known = false;
    reply.leave = draining();
    return {std::move(reply), std::move(out)};
  }
  auto& one = i->second;
  one.seen = now;
  one.last = beat;
  finished_ = finished_ || beat.finished;
  watch_paces(one, now, out);
  reply.evicted = one.evicted;
  reply.leave = may_leave(beat.who, now);
  if (beat.generation != map_.generation)
    reply.where = map_;
  else
    reply.where.generation = map_.generation;
  return {std::move(reply), std::move(out)};
}

void membership::watch_paces(member& one, double now, membership_effects& out) {
  for (auto& actor : one.last.actors) {
    auto& pace = one.paces[{actor.kind, actor.actor}];
    if (!actor.working || actor.count != pace.count) {
      pace = {actor.count, now};
      continue;
    }
    if (now - pace.since <= limits_.stall_s || !one.evicted.empty())
      continue;
    one.evicted = fmt::format("{} {} has not moved for {:.0f} s", actor.kind,
                              actor.actor, now - pace.since);
    out.warnings.push_back(fmt::format("node {}: {}; its process has to start "
                                       "anew",
                                       one.info.who.name, one.evicted));
  }
}

membership_effects membership::on_leave(const node_id& who,
                                        const std::string& reason) {
  membership_effects out;
  auto i = members_.find(who.name);
  if (i != members_.end() && i->second.info.who == who)
    remove(who, reason, out);
  return out;
}

membership_effects membership::on_fault(const fault_report& fault) {
  membership_effects out;
  out.warnings.push_back(
    fmt::format("node {}: {}: {}", fault.who.name, fault.actor, fault.message));
  if (fault.fatal) {
    auto i = members_.find(fault.who.name);
    if (i != members_.end() && i->second.info.who == fault.who)
      remove(fault.who, "it cannot go on", out);
  }
  return out;
}

membership_effects membership::on_tick(double now) {
  membership_effects out;
  auto late = last_tick_ ? now - *last_tick_ - late_s : 0;
  last_tick_ = now;
  if (late > 0)
    for (auto& [name, one] : members_)
      one.seen += late;
  std::vector<node_id> silent;
  for (auto& [name, one] : members_)
    // This process runs, however long its own beat has waited in it.
    if (one.info.who != terms_.head && now - one.seen > limits_.detection_s)
      silent.push_back(one.info.who);
  for (auto& who : silent)
    remove(who,
           fmt::format("it was silent for {:.1f} s", limits_.detection_s), out);
  watch_missing(now, out);
  return out;
}

void membership::refuse(const std::string& name, const std::string& reason,
                        double now, membership_effects& out) {
  auto& [last, until] = refused_[name];
  auto known = last == reason && now < until;
  auto& told = known ? out.lines : out.warnings;
  told.push_back(fmt::format("node {} was refused: {}", name, reason));
  if (!known) {
    last = reason;
    until = now + refusal_pause_s;
  }
}

/// A run may go on without them, so this does not say that it waits.
void membership::watch_missing(double now, membership_effects& out) {
  auto absent = missing();
  std::erase(absent, terms_.head.name);
  if (absent.empty() || draining())
    return missing_.reset();
  if (missing_.due(now))
    out.notices.push_back(
      fmt::format("missing for {:.0f} s: node{} {}; each is started with "
                  "`swage train CONFIG --node NAME`",
                  missing_.waited(now), absent.size() > 1 ? "s" : "",
                  fmt::join(absent, ", ")));
}

void membership::drain(double now) {
  if (!drain_until_)
    drain_until_ = now + limits_.drain_s;
}

bool membership::may_leave(const node_id& who, double now) const {
  if (!drain_until_)
    return false;
  auto drained = std::all_of(members_.begin(), members_.end(), [](auto& x) {
    return x.second.last.drained;
  });
  if (!drained && now < *drain_until_)
    return false;
  // The head is asked by the others until they are gone, but not for ever.
  return who != terms_.head || members_.size() == 1
         || now >= *drain_until_ + limits_.detection_s;
}

void membership::remove(node_id who, const std::string& reason,
                        membership_effects& out) {
  members_.erase(who.name);
  redraw();
  auto& told = draining() ? out.lines : out.warnings;
  told.push_back(fmt::format("node {} left: {}", who.name, reason));
  out.down.push_back(std::move(who));
}

void membership::redraw() {
  ++map_.generation;
  map_.nodes.clear();
  for (auto& [name, one] : members_)
    map_.nodes.push_back(one.info);
}

std::vector<beat_report> membership::reports() const {
  std::vector<beat_report> out;
  for (auto& [name, one] : members_)
    out.push_back(one.last);
  return out;
}

std::vector<std::string> membership::missing() const {
  std::vector<std::string> out;
  for (auto& name : terms_.names)
    if (!members_.contains(name))
      out.push_back(name);
  return out;
}

} // namespace swage
