#include "tests/support/virtual_network.hpp"

#include <caf/actor_proxy.hpp>
#include <caf/actor_system.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/exit_reason.hpp>
#include <caf/make_actor.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace swage::test {

/// An actor of another process, as one process sees it.
class virtual_network::remote_actor : public caf::actor_proxy {
public:
  remote_actor(caf::actor_config& cfg, virtual_network* net, uint32_t viewer,
               caf::strong_actor_ptr target)
    : caf::actor_proxy(cfg),
      net_(net),
      viewer_(viewer),
      target_(std::move(target)) {
    // nop
  }

  bool enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    return target_ && net_->send(viewer_, target_, std::move(what));
  }

  bool add_backlink(caf::abstract_actor*) override { return false; }
  bool remove_backlink(caf::abstract_actor*) override { return false; }

  void kill_proxy(caf::execution_unit* ctx, caf::error why) override {
    target_ = nullptr;
    cleanup(std::move(why), ctx);
  }

private:
  virtual_network* net_;
  uint32_t viewer_;
  caf::strong_actor_ptr target_;
};

class virtual_network::connector_state {
public:
  using interface = connector_actor;

  connector_state(interface::pointer, std::shared_ptr<virtual_network*> net,
                  uint32_t process)
    : net_(std::move(net)), process_(process) {
    // nop
  }

  interface::behavior_type make_behavior() {
    return {
      [this](caf::connect_atom,
             const std::string& address) -> caf::result<caf::strong_actor_ptr> {
        auto* net = *net_;
        if (!net)
          return to_caf({ec::io, "there is no network"});
        auto found = net->places_.find(address);
        if (found == net->places_.end()
            || !net->reachable(process_, found->second.process))
          return to_caf({ec::io, "nobody listens at " + address});
        return net->view(process_, found->second.node);
      },
    };
  }

private:
  std::shared_ptr<virtual_network*> net_;
  uint32_t process_;
};

virtual_network::virtual_network(caf::actor_system& sys, decide how,
                                 refuse broken)
  : reachable([](uint32_t, uint32_t) { return true; }),
    sys_(sys),
    decide_(std::move(how)),
    refuse_(std::move(broken)),
    nodes_(1),
    alive_(std::make_shared<virtual_network*>(this)) {
  // nop
}

virtual_network::~virtual_network() {
  *alive_ = nullptr;
  kill_views([](uint32_t, caf::actor_id) { return true; });
}

uint32_t virtual_network::add_process(const std::string& name) {
  auto number = static_cast<uint32_t>(nodes_.size());
  // 40 hexadecimal digits are a host.
  auto made = caf::make_node_id(number, fmt::format("{:040x}", number));
  if (!made)
    refuse_("no node id for process " + name);
  nodes_.push_back(made ? *made : caf::node_id{});
  return number;
}

void virtual_network::own(uint32_t process, caf::actor_id after,
                          caf::actor_id last) {
  ranges_.push_back({after, last, process});
}

uint32_t virtual_network::process_of(caf::actor_id actor) const {
  for (auto& one : ranges_)
    if (actor > one.after && actor <= one.last)
      return one.process;
  return 0;
}

void virtual_network::publish(const std::string& address, uint32_t process,
                              const node_actor& node) {
  places_[address] = {process, caf::actor_cast<caf::strong_actor_ptr>(node)};
}

connector_actor virtual_network::spawn_connector(uint32_t process) {
  return sys_.spawn<actor_of<connector_state>>(alive_, process);
}

void virtual_network::cut(uint32_t a, uint32_t b) {
  ++ways_[{a, b}].epoch;
  ++ways_[{b, a}].epoch;
  kill_views([this, a, b](uint32_t viewer, caf::actor_id actor) {
    const auto target = process_of(actor);
    return (viewer == a && target == b) || (viewer == b && target == a);
  });
}

void virtual_network::cut_all(uint32_t process) {
  std::erase_if(places_,
                [&](auto& x) { return x.second.process == process; });
  for (uint32_t other = 1; other < nodes_.size(); ++other) {
    ++ways_[{process, other}].epoch;
    ++ways_[{other, process}].epoch;
  }
  kill_views([this, process](uint32_t viewer, caf::actor_id actor) {
    return viewer == process || process_of(actor) == process;
  });
}

caf::strong_actor_ptr
virtual_network::view(uint32_t viewer, const caf::strong_actor_ptr& target) {
  if (!target)
    return target;
  auto process = process_of(target->aid);
  if (process == viewer || process == 0)
    return target;
  auto& one = views_[{viewer, target->aid}];
  if (!one) {
    watch(target);
    caf::actor_config cfg;
    one = caf::make_actor<remote_actor, caf::strong_actor_ptr>(
      target->aid, nodes_[process], &sys_, cfg, this, viewer, target);
  }
  return one;
}

template <class Handle>
void virtual_network::translate(uint32_t viewer, Handle& handle) {
  if (handle)
    handle = caf::actor_cast<Handle>(
      view(viewer, caf::actor_cast<caf::strong_actor_ptr>(handle)));
}

/// What arrives of a message: its bytes, and handles as the receiver sees them.
caf::message virtual_network::copy(uint32_t to, const caf::message& what) {
  if (what.match_elements<node_handles>()) {
    auto all = what.get_as<node_handles>(0);
    translate(to, all.coordinator);
    translate(to, all.buffer);
    translate(to, all.publisher);
    translate(to, all.pool);
    for (auto& one : all.rollouts)
      translate(to, one);
    return caf::make_message(std::move(all));
  }
  caf::byte_buffer bytes;
  caf::binary_serializer sink{sys_, bytes};
  caf::message out;
  if (!sink.apply(what)) {
    refuse_("a message cannot leave its process: " + to_string(what));
    return out;
  }
  caf::binary_deserializer source{sys_, bytes};
  if (!source.apply(out))
    refuse_("a message cannot be read: " + to_string(what));
  return out;
}

bool virtual_network::send(uint32_t from, const caf::strong_actor_ptr& to,
                           caf::mailbox_element_ptr what) {
  passage one;
  one.from = from;
  one.to = process_of(to->aid);
  one.is_reply = what->mid.is_response();
  if (!what->payload.empty()) {
    auto name = caf::query_type_name(what->payload.type_at(0));
    one.what.assign(name.data(), name.size());
  }
  const auto how = decide_(one);
  if (how.lost)
    return true;
  what->payload = copy(one.to, what->payload);
  const pair way{from, one.to};
  auto& newest = ways_[way].newest;
  auto when = clock().now() + seconds_of(how.delay_s);
  if (!how.late)
    when = newest = std::max(newest, when);
  deliver_at(when, way, to, *what);
  if (how.again_after_s > 0)
    deliver_at(when + seconds_of(how.again_after_s), way, to, *what);
  return true;
}

void virtual_network::deliver_at(caf::actor_clock::time_point when, pair way,
                                 const caf::strong_actor_ptr& to,
                                 const caf::mailbox_element& what) {
  auto arrive = [this, net = alive_, way, to, sender = what.sender,
                 mid = what.mid, payload = what.payload,
                 epoch = ways_[way].epoch] {
    if (!*net || ways_[way].epoch != epoch)
      return;
    to->enqueue(view(way.second, sender), mid, payload, nullptr);
  };
  clock().schedule(when, caf::make_action(std::move(arrive)));
}

/// An actor that ends while its process lives: its proxies end too.
void virtual_network::watch(const caf::strong_actor_ptr& target) {
  if (std::exchange(watched_[target->aid], true))
    return;
  target->get()->attach_functor([net = alive_, id = target->aid] {
    if (*net)
      (*net)->actor_gone(id);
  });
}

void virtual_network::actor_gone(caf::actor_id actor) {
  auto gone = [this, net = alive_, actor] {
    if (*net)
      kill_views([actor](uint32_t, caf::actor_id x) { return x == actor; });
  };
  clock().schedule(clock().now() + seconds_of(0.001),
                   caf::make_action(std::move(gone)));
}

void virtual_network::kill_views(
  const std::function<bool(uint32_t, caf::actor_id)>& which) {
  std::vector<caf::strong_actor_ptr> dead;
  for (auto i = views_.begin(); i != views_.end();) {
    auto next = std::next(i);
    if (which(i->first.first, i->first.second))
      dead.push_back(std::move(views_.extract(i).mapped()));
    i = next;
  }
  for (auto& one : dead)
    static_cast<remote_actor*>(caf::actor_cast<caf::abstract_actor*>(one))
      ->kill_proxy(nullptr, caf::exit_reason::remote_link_unreachable);
}

caf::actor_clock& virtual_network::clock() const {
  return sys_.scheduler().clock();
}

} // namespace swage::test
