#include "actors/verifier.hpp"

#include <utility>

namespace swage {

namespace {

verdict lost(std::string why) {
  verdict out;
  out.kind = category::infra_worker;
  out.detail = std::move(why);
  return out;
}

/// The longest that one verification may take, retries included.
double verification_limit_s(const verifier_config& settings) {
  return 2 * (settings.build_timeout_s
              + settings.run_timeout_s * (settings.trials + settings.stress))
         + 30;
}

} // namespace

judge_function judge_of(std::shared_ptr<engine> with) {
  return [with = std::move(with)](const verify_request& request,
                                  std::stop_token stop) {
    candidate who{std::to_string(request.id), request.response};
    return with->verify(request.what, who, stop);
  };
}

slot_state::slot_state(slot_actor::pointer self, judge_function judge,
                       std::shared_ptr<progress_counter> counter)
  : self_(self), judge_(std::move(judge)), counter_(std::move(counter)) {
  // nop
}

slot_actor::behavior_type slot_state::make_behavior() {
  return {
    [this](verify_atom, const slot_job& job) {
      busy_scope busy{*counter_};
      return judge_(job.request, job.stop);
    },
  };
}

verifier_state::verifier_state(verifier_actor::pointer self,
                               std::vector<slot_actor> slots, double timeout_s)
  : self_(self),
    box_(self),
    slots_(std::move(slots)),
    stops_(slots_.size()),
    timeout_s_(timeout_s),
    core_(static_cast<uint32_t>(slots_.size())) {
  // nop
}

verifier_actor::behavior_type verifier_state::make_behavior() {
  // Whatever it was given would fail at once: the node has to start anew.
  for (auto& slot : slots_)
    box_.watch(slot, [this](const error& why) { self_->quit(to_caf(why)); });
  return {
    [this](verify_atom, verify_request& request) {
      return verify(std::move(request));
    },
    [this](credit_atom, const owner& asker, uint32_t have, uint32_t want) {
      return credit(asker, have, want);
    },
    [this](cancel_atom, const owner& asker, uint64_t id) { cancel(asker, id); },
    [this](drain_atom, double deadline_s) { drain(deadline_s); },
  };
}

uint32_t verifier_state::credit(const owner& asker, uint32_t have,
                                uint32_t want) {
  watch_sender(asker);
  return core_.on_credit(asker, have, draining_ ? 0 : want);
}

void verifier_state::watch_sender(const owner& asker) {
  if (auto& peer = self_->current_sender())
    box_.watch_once(peer, [this, asker](const error&) {
      std::erase_if(waiting_, [&](auto& x) { return x.first.first == asker; });
      apply(core_.on_owner_down(asker));
    });
}

caf::result<verify_reply> verifier_state::verify(verify_request request) {
  watch_sender(request.from);
  auto answer = self_->make_response_promise<verify_reply>();
  if (draining_) {
    answer.deliver(to_caf({ec::cancelled, "the verifier is draining"}));
    return answer;
  }
  waiting_[{request.from, request.id}] = answer;
  apply(core_.on_verify(std::move(request)));
  return answer;
}

void verifier_state::cancel(const owner& asker, uint64_t id) {
  auto effects = core_.on_cancel(asker, id);
  auto it = waiting_.find({asker, id});
  if (it != waiting_.end()) {
    it->second.deliver(to_caf({ec::cancelled, "cancelled by its owner"}));
    waiting_.erase(it);
  }
  apply(std::move(effects));
}

void verifier_state::drain(double deadline_s) {
  draining_ = true;
  after(self_, deadline_s, [this] {
    for (auto& stop : stops_)
      stop.request_stop();
  });
}

void verifier_state::apply(pool_effects effects) {
  for (auto slot : effects.abandon)
    stops_[slot].request_stop();
  for (auto& answer : effects.answer) {
    auto it = waiting_.find({answer.to, answer.reply.id});
    if (it == waiting_.end())
      continue;
    it->second.deliver(std::move(answer.reply));
    waiting_.erase(it);
  }
  for (auto& start : effects.start)
    run(std::move(start));
}

void verifier_state::run(slot_start start) {
  const auto slot = start.slot;
  stops_[slot] = std::stop_source{};
  slot_job job{std::move(start.request), stops_[slot].get_token()};
  box_.ask(
    slots_[slot], timeout_s_,
    [this, slot](verdict& outcome) { done(slot, std::move(outcome)); },
    [this, slot](error reason) {
      stops_[slot].request_stop();
      done(slot, lost(std::move(reason.message)));
    },
    verify_atom_v, std::move(job));
}

void verifier_state::done(uint32_t slot, verdict outcome) {
  apply(core_.on_done(slot, std::move(outcome)));
}

verifier_actor spawn_verifiers(caf::actor_system& sys,
                               const std::vector<judge_function>& judges,
                               const verifier_config& settings,
                               progress_board& counts) {
  std::vector<slot_actor> slots;
  for (const auto& judge : judges)
    slots.push_back(spawn_compute<slot_state>(
      sys, judge,
      counts.add("verifier", static_cast<uint32_t>(slots.size()))));
  return sys.spawn<actor_of<verifier_state>>(std::move(slots),
                                             verification_limit_s(settings));
}

} // namespace swage
