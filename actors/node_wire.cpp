#include "actors/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swage {

namespace {

constexpr double retry_s = 1;

} // namespace

node_handles node_state::handles() const {
  node_handles out;
  out.who = parts_.me.who;
  out.coordinator = parts_.here.coordinator;
  out.buffer = parts_.here.buffer;
  out.publisher = parts_.here.publisher;
  out.pool = parts_.here.pool;
  out.rollouts = parts_.here.rollouts;
  return out;
}

void node_state::apply(const cluster_map& map) {
  map_ = map;
  auto is_listed = [&](const node_id& who) {
    return std::any_of(map_.nodes.begin(), map_.nodes.end(),
                       [&](auto& x) { return x.who == who; });
  };
  auto gone = std::erase_if(
    peers_, [&](auto& x) { return !is_listed(x.second.info.who); });
  for (auto& node : map_.nodes) {
    if (node.who == parts_.me.who || find_peer(node.who))
      continue;
    peers_[node.who.name] = {node, peer_stage::connecting, {}};
    connect(node.who);
  }
  if (gone > 0 || wired_ == 0)
    rewire();
}

void node_state::connect(const node_id& who) {
  auto* one = find_peer(who);
  if (!one)
    return;
  one->stage = peer_stage::connecting;
  parts_.connect(
    mail_, one->info.address,
    [this, who](node_actor there) { take_handles(who, there); },
    [this, who](const error&) { retry(who); });
}

void node_state::take_handles(const node_id& who, const node_actor& there) {
  mail_.ask(
    there, timeout(),
    [this, who, there](node_handles& found) {
      auto* one = find_peer(who);
      if (!one)
        return;
      // Behind that address runs a newer process: the map will say so.
      if (found.who != who)
        return retry(who);
      one->stage = peer_stage::taken;
      one->handles = std::move(found);
      mail_.watch(there, [this, who](const error&) { peer_gone(who); });
      rewire();
    },
    [this, who](const error&) { retry(who); }, handles_atom_v);
}

void node_state::retry(const node_id& who) {
  auto* one = find_peer(who);
  if (!one || one->stage == peer_stage::waiting)
    return;
  one->stage = peer_stage::waiting;
  after(self_, retry_s, [this, who] { connect(who); });
}

void node_state::peer_gone(const node_id& who) {
  auto* one = find_peer(who);
  if (!one)
    return;
  one->handles = {};
  rewire();
  if (is_head())
    post(self_, parts_.here.coordinator, leave_atom_v, who,
         std::string{"its connection was lost"});
  retry(who);
}

node_state::peer* node_state::find_peer(const node_id& who) {
  auto i = peers_.find(who.name);
  return i == peers_.end() || i->second.info.who != who ? nullptr
                                                        : &i->second;
}

buffer_actor node_state::find_buffer() const {
  if (parts_.here.buffer)
    return parts_.here.buffer;
  for (auto& [name, one] : peers_)
    if (one.handles.buffer)
      return one.handles.buffer;
  return {};
}

publisher_actor node_state::find_publisher() const {
  if (parts_.here.publisher)
    return parts_.here.publisher;
  for (auto& [name, one] : peers_)
    if (one.handles.publisher)
      return one.handles.publisher;
  return {};
}

void node_state::rewire() {
  ++wired_;
  auto& here = parts_.here;
  auto buffer = find_buffer();
  auto publisher = find_publisher();
  rollout_wiring rollout{wired_, buffer, publisher, {}};
  mirror_wiring mirror{wired_, buffer, publisher, here.rollouts};
  if (here.pool)
    rollout.pools.push_back({parts_.me.who, here.pool});
  for (auto& [name, one] : peers_) {
    if (one.handles.pool)
      rollout.pools.push_back({one.info.who, one.handles.pool});
    mirror.rollouts.insert(mirror.rollouts.end(),
                           one.handles.rollouts.begin(),
                           one.handles.rollouts.end());
  }
  for (auto& one : here.rollouts)
    post(self_, one, wire_atom_v, rollout);
  post(self_, here.mirror, wire_atom_v, mirror);
  post(self_, here.learner, wire_atom_v,
       learner_wiring{wired_, buffer, here.mirror, here.publisher,
                      mirror.rollouts});
  post(self_, here.coordinator, wire_atom_v,
       coordinator_wiring{wired_, buffer, publisher});
}

} // namespace swage
