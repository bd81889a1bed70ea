#pragma once

#include "actors/embedding.hpp"
#include "actors/mail.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>

#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <utility>

namespace swage::test {

/// Settings of a system whose messages and time move only when told.
struct virtual_config : caf::actor_system_config {
  virtual_config() {
    set("caf.scheduler.policy", "testing");
  }
};

struct types_first {
  types_first() {
    register_types();
  }
};

/// An actor system in virtual time. Everything runs on the test's own thread.
class simulation : private types_first {
public:
  simulation() : sys(settings_), self(sys) {
    sys.await_actors_before_shutdown(false);
  }

  ~simulation() {
    // What still waits for its time would keep its actor alive for ever, and
    // an actor that ticks would keep the end of the system waiting.
    auto& entries = scheduler().clock().schedule;
    do {
      for (auto& [when, entry] : entries)
        entry.f.dispose();
      entries.clear();
      run();
    } while (!entries.empty());
  }

  /// Delivers messages until none is left.
  size_t run() {
    return scheduler().run();
  }

  /// Moves time on, from one thing that is due to the next, delivering all
  /// messages after each.
  void advance(double s) {
    auto& clock = scheduler().clock();
    auto end = clock.current_time + seconds_of(s);
    run();
    while (!clock.schedule.empty() && clock.schedule.begin()->first <= end) {
      auto due = clock.schedule.begin()->first;
      clock.advance_time(std::max(due - clock.current_time,
                                  caf::actor_clock::duration_type{0}));
      run();
    }
    clock.advance_time(end - clock.current_time);
    run();
  }

  /// Asks, runs until the answer is there, and returns it. An error fails the
  /// test; `T` is the answer's type.
  template <class T, class Handle, class... Ts>
  T ask(const Handle& to, Ts&&... xs) {
    auto pending = request(self.ptr(), to, 3600, std::forward<Ts>(xs)...);
    run();
    std::optional<T> out;
    std::move(pending).receive([&out](T& x) { out = std::move(x); },
                               [](caf::error& e) { FAIL(to_string(e)); });
    return std::move(*out);
  }

  /// The same for an answer without a value.
  template <class Handle, class... Ts>
  void tell(const Handle& to, Ts&&... xs) {
    auto pending = request(self.ptr(), to, 3600, std::forward<Ts>(xs)...);
    run();
    std::move(pending).receive([] {},
                               [](caf::error& e) { FAIL(to_string(e)); });
  }

  /// The same where an error is expected.
  template <class T, class Handle, class... Ts>
  error refused(const Handle& to, Ts&&... xs) {
    auto pending = request(self.ptr(), to, 3600, std::forward<Ts>(xs)...);
    run();
    error out;
    auto keep = [&out](caf::error& e) { out = from_caf(e); };
    if constexpr (std::is_void_v<T>)
      std::move(pending).receive([] { FAIL("was not refused"); }, keep);
    else
      std::move(pending).receive([](T&) { FAIL("was not refused"); }, keep);
    return out;
  }

  /// Asks and does not wait: the answer is read with `taken`.
  template <class Handle, class... Ts>
  auto start(const Handle& to, Ts&&... xs) {
    return request(self.ptr(), to, 3600, std::forward<Ts>(xs)...);
  }

  /// Whether any answer to `start` has arrived and was not read.
  bool has_answer() {
    return self->has_next_message();
  }

  /// The answer to `start`; it must have arrived.
  template <class T, class Pending>
  T taken(Pending&& pending) {
    REQUIRE(has_answer());
    std::optional<T> out;
    std::move(pending).receive([&out](T& x) { out = std::move(x); },
                               [](caf::error& e) { FAIL(to_string(e)); });
    return std::move(*out);
  }

  /// Ends an actor as the death of its process would.
  template <class Handle>
  void kill(const Handle& who) {
    caf::anon_send_exit(who, caf::exit_reason::kill);
    run();
  }

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler());
  }

private:
  virtual_config settings_;

public:
  caf::actor_system sys;
  caf::scoped_actor self;
};

/// The state of an actor that runs.
template <class State, class Handle>
const State& state_of(const Handle& who) {
  auto* ptr = caf::actor_cast<caf::abstract_actor*>(who);
  return dynamic_cast<actor_of<State>&>(*ptr).state;
}

} // namespace swage::test
