#include "actors/rollout.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace swage {

namespace {

constexpr double retry_s = 0.25;  ///< After a lost or refused message.
constexpr double credit_s = 0.5;  ///< Between two looks at the credits,
constexpr double hurry_s = 0.1;   ///< where some candidate waits for one.
constexpr double pause_s = 5;     ///< The longest one for a measurement.
constexpr uint64_t looks_a_round = 10; ///< Then idle credits are named again.

rollout_limits limits_of(const config& settings) {
  rollout_limits out;
  out.max_live = settings.rollout.max_live;
  out.max_tokens = settings.policy.max_tokens;
  out.max_attempts = settings.verifier.max_attempts;
  return out;
}

/// Every stage of a verification at its limit, twice for an inner retry.
double verify_timeout(const config& settings) {
  return 2 * (settings.verifier.build_timeout_s
              + settings.verifier.run_timeout_s
                  * (settings.verifier.trials + settings.verifier.stress))
         + 60;
}

} // namespace

rollout_state::rollout_state(rollout_actor::pointer self, rollout_parts parts)
  : self_(self),
    box_(self),
    parts_(std::move(parts)),
    core_(parts_.who, limits_of(parts_.settings), parts_.tools) {
  // nop
}

rollout_actor::behavior_type rollout_state::make_behavior() {
  return {
    [this](wire_atom, rollout_wiring& wiring) { wire(std::move(wiring)); },
    [this](available_atom, uint64_t version) {
      core_.on_available(version);
      want_weights();
    },
    [this](rescore_atom, const rescore_request& request) {
      return rescore(request);
    },
    [this](step_atom) { step(); },
    [this](drain_atom, double deadline_s) { return drain(deadline_s); },
  };
}

void rollout_state::wire(rollout_wiring wiring) {
  if (wiring.generation < wiring_.generation)
    return;
  wiring_ = std::move(wiring);
  std::map<uint32_t, verifier_actor> pools;
  for (auto& entry : wiring_.pools) {
    if (!entry.pool)
      continue;
    auto number = static_cast<uint32_t>(pool_numbers_.size());
    number = pool_numbers_.emplace(entry.where, number).first->second;
    pools.emplace(number, entry.pool);
  }
  auto before = std::exchange(pools_, std::move(pools));
  for (auto& [number, pool] : before)
    if (!pools_.contains(number))
      apply(core_.on_pool_down(number));
  want_weights();
  watch_credit();
  sync();
}

void rollout_state::sync() {
  const auto over = core_.draining() && core_.idle();
  if (syncing_ || !wiring_.buffer || over)
    return;
  syncing_ = true;
  box_.ask(
    wiring_.buffer, timeout() + parts_.settings.buffer.poll_hold_s,
    [this](sync_reply& reply) {
      syncing_ = false;
      on_sync(reply);
    },
    [this](error) {
      syncing_ = false;
      after(self_, retry_s, [this] { sync(); });
    },
    sync_atom_v, core_.sync());
}

void rollout_state::on_sync(sync_reply& reply) {
  const auto idle = reply.grants.empty();
  apply(core_.on_sync(reply, now()));
  want_weights();
  // An answer without grants was held already if something was asked for.
  const auto pause = idle && core_.sync().want == 0 ? retry_s : 0.005;
  after(self_, pause, [this] { sync(); });
}

void rollout_state::want_step() {
  if (stepping_ || parts_.model->pending() == 0)
    return;
  stepping_ = true;
  post(self_, rollout_actor{self_}, step_atom_v);
}

void rollout_state::step() {
  // The mailbox is read while a measurement runs: verdicts and credits come.
  auto resume = [self = rollout_actor{self_}] {
    post_anonymously(self, step_atom_v);
  };
  if (parts_.gate->pass(this, resume))
    return decode();
  after(self_, pause_s, [this, pause = ++pauses_] {
    if (pause == pauses_ && parts_.gate->leave(this))
      decode();
  });
}

void rollout_state::decode() {
  stepping_ = false;
  std::vector<sequence_output> done;
  {
    busy_scope busy{*parts_.counter};
    done = parts_.model->step();
  }
  if (!done.empty()) {
    apply(core_.on_generated(std::move(done), now()));
    ask_credit();
    want_weights();
    sync(); // There may be room again.
  }
  want_step();
}

caf::result<rescore_reply>
rollout_state::rescore(const rescore_request& request) {
  if (request.version != parts_.model->version())
    return to_caf({ec::stale, "this rollout has other weights"});
  busy_scope busy{*parts_.counter};
  std::vector<scored_sequence> sequences;
  for (auto& one : request.sequences)
    sequences.push_back({one.prompt, one.response});
  auto scored = parts_.model->score(sequences, request.temperature);
  if (!scored)
    return to_caf(scored.error());
  return rescore_reply{request.version, std::move(*scored)};
}

caf::result<void> rollout_state::drain(double deadline_s) {
  auto answer = self_->make_response_promise<void>();
  core_.drain();
  draining_ = answer;
  after(self_, deadline_s, [this] {
    if (draining_)
      draining_->deliver();
    draining_.reset();
  });
  finish_drain();
  return answer;
}

void rollout_state::finish_drain() {
  if (!draining_ || core_.decoding() + core_.judging() + core_.submitting() > 0)
    return;
  draining_->deliver();
  draining_.reset();
}

void rollout_state::apply(rollout_effects effects) {
  for (auto id : effects.cancel)
    parts_.model->cancel(id);
  for (auto& one : effects.generate) {
    const auto id = one.id;
    if (auto queued = parts_.model->submit(std::move(one)); !queued) {
      // Too long for the policy: an empty response, judged as such.
      sequence_output nothing;
      nothing.id = id;
      nothing.finish = finish_reason::length;
      apply(core_.on_generated({std::move(nothing)}, now()));
    }
  }
  for (auto [pool, id] : effects.cancel_verify)
    post(self_, pools_[pool], cancel_atom_v, parts_.who, id);
  for (auto& order : effects.verify)
    verify(std::move(order));
  for (auto& one : effects.submit)
    submit(std::move(one));
  want_step();
  finish_drain();
}

void rollout_state::verify(verify_order order) {
  const auto pool = order.pool;
  const auto id = order.request.id;
  box_.ask(
    pools_[pool], verify_timeout(parts_.settings),
    [this, pool](verify_reply& reply) {
      apply(core_.on_verdict(pool, std::move(reply), now()));
    },
    [this, pool, id](error) { apply(core_.on_verify_lost(pool, id)); },
    verify_atom_v, std::move(order.request));
}

void rollout_state::submit(submission one) {
  const auto item = one.sample.item;
  const auto index = one.sample.index;
  auto resubmit = [this, item, index] {
    after(self_, retry_s, [this, item, index] {
      apply(core_.on_submit_lost(item, index));
    });
  };
  box_.ask(
    wiring_.buffer, timeout(),
    [this, item, index, resubmit](submit_status status) {
      if (status == submit_status::journal_full)
        return resubmit();
      apply(core_.on_submitted(item, index, status));
      sync();
    },
    [resubmit](error) { resubmit(); }, submit_atom_v, parts_.who, one.lease,
    std::move(one.sample));
}

void rollout_state::watch_credit() {
  if (std::exchange(crediting_, true))
    return;
  // What went astray on its way, a grant or what was given back, is home then.
  if (++credit_looks_ % looks_a_round == 0)
    for (auto& [number, pool] : pools_)
      hungry_.insert(number);
  ask_credit();
  after(self_, core_.queued() > 0 ? hurry_s : credit_s, [this] {
    crediting_ = false;
    watch_credit();
  });
}

void rollout_state::ask_credit() {
  const auto queued = static_cast<uint32_t>(core_.queued());
  for (auto& [number, pool] : pools_) {
    const auto unused = core_.unused_credit(number);
    if (queued == 0 && (unused > 0 || hungry_.erase(number) > 0)) {
      // What lies here, or is kept for us, is missing for another rollout.
      core_.give_back_credit(number);
      box_.ask(
        pool, timeout(), [](uint32_t) {}, [](error) {}, credit_atom_v,
        parts_.who, 0u, 0u);
    }
    if (queued == 0 || unused > 0 || !asking_.insert(number).second)
      continue;
    box_.ask(
      pool, timeout(),
      [this, number = number](uint32_t granted) {
        asking_.erase(number);
        if (granted == 0)
          hungry_.insert(number);
        apply(core_.on_credit(number, granted));
      },
      // Asked again soon.
      [this, number = number](error) { asking_.erase(number); },
      credit_atom_v, parts_.who, 0u, queued);
  }
}

void rollout_state::want_weights() {
  auto wish = core_.wanted_weights();
  if (pulling_ || !wish || !wiring_.weights)
    return;
  pulling_ = true;
  if (wish->exact)
    return pull_version(wish->version);
  // Newer ones may have replaced that version: ask what is there.
  box_.ask(
    wiring_.weights, timeout(),
    [this](manifest& newest) {
      if (newest.version == core_.version() && newest.version > 0)
        return pull_failed();
      pull_version(newest.version);
    },
    [this](error) { pull_failed(); }, newest_atom_v);
}

void rollout_state::pull_version(uint64_t version) {
  if (!wiring_.weights)
    return pull_failed(); // Gone since it was asked what is there.
  const auto here = wiring_.weights.node() == self_->node();
  if (!here || parts_.settings.weights.transport == "message")
    return pull_chunks(version);
  box_.ask(
    wiring_.weights, timeout(),
    [this](local_snapshot& there) { on_pulled(there.weights); },
    [this](error) { pull_failed(); }, local_atom_v, version);
}

void rollout_state::pull_chunks(uint64_t version) {
  box_.ask(
    wiring_.weights, timeout(),
    [this](pull_ticket& ticket) {
      auto data
        = std::make_shared<std::vector<std::byte>>(ticket.what.bytes);
      pull_ = pull{std::move(ticket), std::move(data), 0};
      next_chunk();
    },
    [this](error) { pull_failed(); }, open_atom_v, parts_.who, version);
}

void rollout_state::next_chunk() {
  if (pull_->next == pull_->ticket.chunks) {
    snapshot weights{pull_->ticket.what, pull_->data};
    post(self_, wiring_.weights, close_atom_v, pull_->ticket.id);
    pull_.reset();
    return on_pulled(weights);
  }
  box_.ask(
    wiring_.weights, timeout(),
    [this](weight_chunk& piece) { on_chunk(piece); },
    [this](error) { pull_failed(); }, chunk_atom_v, pull_->ticket.id,
    pull_->next);
}

void rollout_state::on_chunk(const weight_chunk& piece) {
  const auto offset = pull_->ticket.chunk_bytes * piece.index;
  if (piece.index != pull_->next
      || offset + piece.bytes.size() > pull_->data->size())
    return pull_failed();
  std::memcpy(pull_->data->data() + offset, piece.bytes.data(),
              piece.bytes.size());
  ++pull_->next;
  next_chunk();
}

void rollout_state::on_pulled(const snapshot& weights) {
  if (auto loaded = parts_.model->load(weights); !loaded)
    return pull_failed(); // Torn or foreign: never used, pulled again.
  pulling_ = false;
  apply(core_.on_weights(weights.what.version, now()));
  want_weights();
}

void rollout_state::pull_failed() {
  if (pull_)
    post(self_, wiring_.weights, close_atom_v, pull_->ticket.id);
  pull_.reset();
  after(self_, retry_s, [this] {
    pulling_ = false;
    want_weights();
  });
}

} // namespace swage
