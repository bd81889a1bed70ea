#pragma once

#include "actors/compute.hpp"
#include "actors/mail.hpp"
#include "actors/protocol.hpp"
#include "runtime/config/config.hpp"
#include "runtime/learn/learner_core.hpp"
#include "runtime/learn/trainer.hpp"
#include "runtime/store/checkpoint.hpp"

#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swage {

/// What a learner is made of.
struct learner_parts {
  owner who;
  std::shared_ptr<trainer> model;
  std::vector<rank_actor> ranks; ///< The others; empty: it trains alone.
  checkpoint_store checkpoints;
  config settings;
  std::shared_ptr<progress_counter> counter;
  /// Called for each step that was trained; may be empty.
  std::function<void(const step_report&)> on_step;
  /// Called once: with nothing after a clean end, else with the reason.
  std::function<void(std::optional<std::string>)> on_end;
};

/// Trains the batches that the mirror hands out, in their order, together with
/// its other ranks, and publishes what comes of it. What it does next is
/// `learner_core`'s decision.
class learner_state {
public:
  using interface = learner_actor;

  learner_state(learner_actor::pointer self, learner_parts parts);

  learner_actor::behavior_type make_behavior();

private:
  void wire(learner_wiring wiring);
  caf::result<uint64_t> stop();

  void perform(learner_action next);
  void attach();
  void publish();
  void ask();
  void train();
  void commit();
  void checkpoint();
  void announce();
  void end(std::optional<std::string> reason);
  /// Tries the same action again a little later.
  void again(learner_action what, const error& reason);

  result<void> restore();
  /// Asks every other rank; one that fails ends all.
  template <class... Ts>
  void ask_ranks(const Ts&... what);

  learner_actor::pointer self_;
  mailbox<learner_actor::base> box_;
  learner_parts parts_;
  learner_core core_;
  learner_wiring wiring_;
  judged_batch batch_;
  step_report report_;
  double asked_at_ = 0;
  bool started_ = false;
  bool ended_ = false;
  std::optional<caf::typed_response_promise<uint64_t>> stopping_;
};

} // namespace swage
