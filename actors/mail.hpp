#pragma once

#include "actors/errors.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/config_value.hpp>
#include <caf/send.hpp>
#include <caf/settings.hpp>
#include <caf/spawn_options.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

// The one file that knows two versions of CAF. The macro CAF_VERSION of 1.1.0
// is wrong, so a header that only 1.x has tells them apart.
#if __has_include(<caf/anon_mail.hpp>)
#  include <caf/actor_from_state.hpp>
#  include <caf/anon_mail.hpp>
#  define SWAGE_CAF_1 1
#else
#  define SWAGE_CAF_1 0
#endif

namespace swage {

/// The actor class of a state: `State::interface` names its messages.
template <class State>
using actor_of
  = caf::stateful_actor<State, typename State::interface::base>;

/// Seconds as the actor clock takes them.
inline std::chrono::nanoseconds seconds_of(double s) {
  return std::chrono::nanoseconds{static_cast<int64_t>(s * 1e9)};
}

/// Seconds on the actor clock; virtual in a simulation.
template <class Self>
double clock_s(Self* self) {
  return std::chrono::duration<double>(self->clock().now().time_since_epoch())
    .count();
}

/// Sends without expecting an answer.
template <class Self, class Handle, class... Ts>
void post(Self* self, const Handle& to, Ts&&... xs) {
  if (!to)
    return;
#if SWAGE_CAF_1
  self->mail(std::forward<Ts>(xs)...).send(to);
#else
  self->send(to, std::forward<Ts>(xs)...);
#endif
}

/// Sends to an actor from outside of any actor.
template <class Handle, class... Ts>
void post_anonymously(const Handle& to, Ts&&... xs) {
#if SWAGE_CAF_1
  caf::anon_mail(std::forward<Ts>(xs)...).send(to);
#else
  caf::anon_send(to, std::forward<Ts>(xs)...);
#endif
}

/// Asks; `timeout_s` bounds the wait. Follow with `.then` (in an actor, prefer
/// `mailbox::ask`) or `.receive` (blocking).
template <class Self, class Handle, class... Ts>
auto request(Self* self, const Handle& to, double timeout_s, Ts&&... xs) {
#if SWAGE_CAF_1
  return self->mail(std::forward<Ts>(xs)...).request(to, seconds_of(timeout_s));
#else
  return self->request(to, seconds_of(timeout_s), std::forward<Ts>(xs)...);
#endif
}

/// Runs `what` in the actor's own context after `delay_s` of its clock.
template <class Self, class F>
void after(Self* self, double delay_s, F what) {
  self->run_delayed(seconds_of(delay_s), std::move(what));
}

/// Whether this system runs in virtual time, where nothing may be detached.
inline bool is_simulated(const caf::actor_system_config& settings) {
  return caf::get_or(settings, "caf.scheduler.policy", std::string{})
         == "testing";
}

/// Spawns an actor that blocks in its handlers (decodes, trains, compiles): on
/// a thread of its own, outside of simulations.
template <class State, class... Ts>
auto spawn_compute(caf::actor_system& sys, Ts&&... xs) {
  if (is_simulated(sys.config()))
    return sys.spawn<actor_of<State>>(std::forward<Ts>(xs)...);
  return sys.spawn<actor_of<State>, caf::detached>(std::forward<Ts>(xs)...);
}

/// Arguments of a lambda that is not generic.
template <class F>
struct call_signature : call_signature<decltype(&F::operator())> {};

template <class C, class... Ts>
struct call_signature<void (C::*)(Ts...)> {
  template <template <class...> class T, class F>
  using rebind = T<F, Ts...>;
};

template <class C, class... Ts>
struct call_signature<void (C::*)(Ts...) const> {
  template <template <class...> class T, class F>
  using rebind = T<F, Ts...>;
};

/// Requests and monitors of one actor. A pending request does not fail when
/// the process of its receiver dies, only a monitor tells: so each peer that
/// is asked is monitored, and what it still owes is failed when it goes down.
/// A member of the actor's state; all calls come from the actor itself.
template <class Self>
class mailbox {
public:
  /// Why a peer is gone.
  using on_gone = std::function<void(const error&)>;

  explicit mailbox(Self* self) : self_(self) {
#if !SWAGE_CAF_1
    self_->set_down_handler(
      [this](caf::down_msg& msg) { down(msg.source, msg.reason); });
#endif
  }

  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  /// Asks `to` and calls exactly one of `then` (with the answer) and
  /// `otherwise` (with an `error`), once, within `timeout_s`.
  template <class Handle, class Then, class Otherwise, class... Ts>
  void ask(const Handle& to, double timeout_s, Then then, Otherwise otherwise,
           Ts&&... xs) {
    auto key = to ? caf::actor_cast<caf::actor_addr>(to) : caf::actor_addr{};
    auto id = ++last_;
    if (to)
      enter(to, key);
    // A request without a receiver is failed by CAF.
    peers_[key].pending.emplace(id, std::move(otherwise));
    using wrapper =
      typename call_signature<Then>::template rebind<once, Then>;
    request(self_, to, timeout_s, std::forward<Ts>(xs)...)
      .then(wrapper{this, key, id, std::move(then)},
            [this, key, id](caf::error& reason) {
              if (auto f = take(key, id))
                f(from_caf(reason));
            });
  }

  /// Calls `gone` once when `peer` or its process has died.
  template <class Handle>
  void watch(const Handle& peer, on_gone gone) {
    auto key = caf::actor_cast<caf::actor_addr>(peer);
    enter(peer, key);
    peers_[key].gone.push_back(std::move(gone));
  }

  /// The same, unless `peer` is watched this way already.
  template <class Handle>
  void watch_once(const Handle& peer, on_gone gone) {
    auto i = peers_.find(caf::actor_cast<caf::actor_addr>(peer));
    if (i == peers_.end() || i->second.gone.empty())
      watch(peer, std::move(gone));
  }

private:
  using on_error = std::function<void(error)>;

  struct peer {
    bool watched = false;
    std::map<uint64_t, on_error> pending;
    std::vector<on_gone> gone;
  };

  template <class F, class... Ts>
  struct once {
    mailbox* box;
    caf::actor_addr key;
    uint64_t id;
    F f;
    void operator()(Ts... xs) {
      if (box->take(key, id))
        f(std::forward<Ts>(xs)...);
    }
  };

  template <class Handle>
  void enter(const Handle& to, const caf::actor_addr& key) {
    if (std::exchange(peers_[key].watched, true))
      return;
#if SWAGE_CAF_1
    self_->monitor(to, [this, key](const caf::error& why) { down(key, why); });
#else
    self_->monitor(to);
#endif
  }

  on_error take(const caf::actor_addr& key, uint64_t id) {
    auto i = peers_.find(key);
    if (i == peers_.end())
      return {};
    auto node = i->second.pending.extract(id);
    return node ? std::move(node.mapped()) : on_error{};
  }

  // The entry goes first: a handle that compares equal after a reconnect must
  // be monitored anew, and the callbacks may ask again.
  void down(const caf::actor_addr& source, const caf::error& reason) {
    auto node = peers_.extract(source);
    if (!node)
      return;
    for (auto& [id, fail] : node.mapped().pending)
      fail(error{ec::infra, "the peer is gone: " + to_string(reason)});
    for (auto& gone : node.mapped().gone)
      gone(from_caf(reason));
  }

  Self* self_;
  uint64_t last_ = 0;
  std::map<caf::actor_addr, peer> peers_;
};

} // namespace swage
