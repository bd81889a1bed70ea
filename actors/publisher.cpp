#include "actors/publisher.hpp"

#include <utility>

namespace swage {

namespace {

template <class T>
caf::result<T> answer(result<T> x) {
  if (!x)
    return to_caf(x.error());
  return std::move(*x);
}

caf::result<void> answer(result<void> x) {
  if (!x)
    return to_caf(x.error());
  return caf::unit;
}

} // namespace

publisher_state::publisher_state(interface::pointer self,
                                 publisher_limits limits, uint64_t seed)
  : self_(self), mail_(self), limits_(limits), core_(limits, seed) {
  tick();
}

publisher_actor::behavior_type publisher_state::make_behavior() {
  return {
    [this](publish_atom, local_snapshot& x) { return publish(x); },
    [this](newest_atom) { return answer(core_.newest()); },
    [this](local_atom, uint64_t version) { return share(version); },
    [this](open_atom, const owner& puller, uint64_t version) {
      return open(puller, version);
    },
    [this](chunk_atom, uint64_t ticket, uint32_t index) {
      return chunk(ticket, index);
    },
    [this](close_atom, uint64_t ticket) {
      core_.close(ticket, clock_s(self_));
    },
    [this](pin_atom, const owner& who, uint64_t version) {
      return pin(who, version);
    },
    [this](unpin_atom, const owner& who, uint64_t version) {
      core_.unpin(who, version, clock_s(self_));
    },
  };
}

caf::result<void> publisher_state::publish(local_snapshot& x) {
  return answer(core_.publish(std::move(x.weights), clock_s(self_)));
}

caf::result<local_snapshot> publisher_state::share(uint64_t version) {
  if (!is_local())
    return to_caf({ec::unsupported,
                   "a snapshot is shared in its own process only: open it and "
                   "pull its chunks"});
  auto found = core_.share(version);
  if (!found)
    return to_caf(found.error());
  return local_snapshot{std::move(*found)};
}

caf::result<pull_ticket> publisher_state::open(const owner& puller,
                                               uint64_t version) {
  auto opened = core_.open(puller, version, clock_s(self_));
  if (!opened)
    return to_caf(opened.error());
  watch_sender(puller);
  return pull_ticket{opened->id, std::move(opened->what), limits_.chunk_bytes,
                     opened->chunks};
}

caf::result<void> publisher_state::pin(const owner& who, uint64_t version) {
  auto pinned = core_.pin(who, version);
  if (pinned)
    watch_sender(who);
  return answer(std::move(pinned));
}

/// What it keeps for an owner that is gone would be kept for ever.
void publisher_state::watch_sender(const owner& who) {
  if (auto& peer = self_->current_sender())
    mail_.watch_once(peer, [this, who](const error&) {
      core_.owner_down(who, clock_s(self_));
    });
}

caf::result<weight_chunk> publisher_state::chunk(uint64_t ticket,
                                                 uint32_t index) {
  auto bytes = core_.chunk(ticket, index, clock_s(self_));
  if (!bytes)
    return to_caf(bytes.error());
  return weight_chunk{index, std::string{*bytes}};
}

bool publisher_state::is_local() const {
  auto& peer = self_->current_sender();
  return !peer || peer->nid == self_->home_system().node();
}

void publisher_state::tick() {
  after(self_, limits_.ticket_ttl_s, [this] {
    core_.tick(clock_s(self_));
    tick();
  });
}

} // namespace swage
