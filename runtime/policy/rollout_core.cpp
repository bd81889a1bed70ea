#include "runtime/policy/rollout_core.hpp"

#include "runtime/buffer/seeded.hpp"

#include <algorithm>
#include <utility>

namespace swage {

namespace {

constexpr double success = 1;

verdict no_solution() {
  verdict out;
  out.kind = category::compile_no_code;
  out.detail = "no solution of this task can be synthesised";
  return out;
}

} // namespace

rollout_core::rollout_core(owner self, rollout_limits limits,
                           rollout_tools tools)
  : self_(std::move(self)), limits_(limits), tools_(std::move(tools)) {
  // nop
}

rollout_effects rollout_core::on_sync(const sync_reply& reply, double now) {
  rollout_effects out;
  newest_ = std::max(newest_, reply.newest);
  draining_ = draining_ || reply.draining;
  for (auto lease : reply.cancelled)
    drop_lease(lease, out);
  for (auto& one : reply.grants) {
    auto shared = std::make_shared<const grant>(one);
    for (auto index : one.missing)
      add(shared, index, now);
  }
  start_waiting(out);
  dispatch(out);
  return out;
}

rollout_effects rollout_core::on_weights(uint64_t version, double now) {
  (void) now;
  rollout_effects out;
  have_ = version;
  loaded_ = true;
  newest_ = std::max(newest_, version);
  start_waiting(out);
  return out;
}

rollout_effects
rollout_core::on_generated(std::vector<sequence_output> done, double now) {
  rollout_effects out;
  for (auto& output : done) {
    auto it = samples_.find(output.id);
    if (it == samples_.end() || it->second.at != phase::decoding)
      continue; // Its lease was cancelled while it was decoded.
    auto& one = it->second;
    auto& last = one.what.turns.back();
    last.text = tools_.decode(output.tokens);
    last.response = std::move(output.tokens);
    last.logprobs = std::move(output.logprobs);
    last.versions = std::move(output.versions);
    last.finish = output.finish;
    one.what.hops.last_token = now;
    one.at = phase::queued;
    one.attempts = 0;
    one.avoid.reset();
    queued_.push_back(it->first);
  }
  start_waiting(out); // A decoding slot is free, the rule may have changed.
  dispatch(out);
  return out;
}

rollout_effects rollout_core::on_credit(uint32_t pool, uint32_t credit) {
  rollout_effects out;
  credit_[pool] += credit;
  dispatch(out);
  return out;
}

rollout_effects rollout_core::on_verdict(uint32_t pool, verify_reply reply,
                                         double now) {
  rollout_effects out;
  credit_[pool] += reply.credit;
  auto it = samples_.find(reply.id);
  if (it != samples_.end() && it->second.at == phase::judging
      && it->second.pool == pool) {
    auto& one = it->second;
    if (is_transient(reply.outcome.kind)
        && ++one.attempts < limits_.max_attempts) {
      one.avoid = pool;
      one.at = phase::queued;
      queued_.push_back(it->first);
    } else {
      finish_turn(it->first, one, std::move(reply.outcome), now, out);
    }
  }
  dispatch(out);
  return out;
}

rollout_effects rollout_core::on_verify_lost(uint32_t pool, uint64_t id) {
  rollout_effects out;
  auto it = samples_.find(id);
  if (it != samples_.end() && it->second.at == phase::judging
      && it->second.pool == pool) {
    it->second.avoid = pool;
    it->second.at = phase::queued;
    queued_.push_back(id);
  }
  dispatch(out);
  return out;
}

rollout_effects rollout_core::on_pool_down(uint32_t pool) {
  rollout_effects out;
  credit_.erase(pool);
  for (auto& [id, one] : samples_)
    if (one.at == phase::judging && one.pool == pool) {
      one.at = phase::queued;
      queued_.push_back(id);
    }
  dispatch(out);
  return out;
}

rollout_effects rollout_core::on_submitted(uint64_t item, uint32_t index,
                                           submit_status status) {
  rollout_effects out;
  auto it = find(item, index);
  if (it == samples_.end() || it->second.at != phase::submitting)
    return out;
  if (status == submit_status::journal_full)
    submit(it->second, out);
  else
    samples_.erase(it);
  return out;
}

rollout_effects rollout_core::on_submit_lost(uint64_t item, uint32_t index) {
  return on_submitted(item, index, submit_status::journal_full);
}

sync_request rollout_core::sync() const {
  sync_request out;
  out.from = self_;
  out.have = have_;
  for (auto& [id, one] : samples_)
    if (std::find(out.held.begin(), out.held.end(), one.from->lease)
        == out.held.end())
      out.held.push_back(one.from->lease);
  const auto decode = count(phase::waiting) + count(phase::decoding);
  const auto after = samples_.size() - decode;
  // What waits for verdicts is bounded too: a slow verifier stops the asking.
  if (!draining_ && decode < limits_.max_live && after < 2 * limits_.max_live)
    out.want = static_cast<uint32_t>(limits_.max_live - decode);
  return out;
}

void rollout_core::on_available(uint64_t version) {
  newest_ = std::max(newest_, version);
}

std::optional<weights_wish> rollout_core::wanted_weights() const {
  const auto live = count(phase::decoding) > 0;
  const auto exactly = [this](const sample& one) {
    return one.from->rule == weights_rule::exactly;
  };
  for (auto& [id, one] : samples_)
    if (one.at == phase::decoding && exactly(one))
      return std::nullopt; // Nothing is mixed into an evaluation.
  if (!waiting_.empty()) {
    auto& head = samples_.at(waiting_.front());
    if (exactly(head)) {
      if (live || (loaded_ && have_ == head.from->version))
        return std::nullopt;
      return weights_wish{head.from->version, true};
    }
  }
  if (!loaded_ || have_ < newest_)
    return weights_wish{newest_, false};
  return std::nullopt;
}

uint32_t rollout_core::unused_credit(uint32_t pool) const {
  auto it = credit_.find(pool);
  return it == credit_.end() ? 0 : it->second;
}

void rollout_core::give_back_credit(uint32_t pool) {
  credit_[pool] = 0;
}

size_t rollout_core::queued() const {
  return count(phase::queued);
}

size_t rollout_core::decoding() const {
  return count(phase::decoding);
}

size_t rollout_core::judging() const {
  return count(phase::queued) + count(phase::judging);
}

size_t rollout_core::submitting() const {
  return count(phase::submitting);
}

void rollout_core::add(const std::shared_ptr<const grant>& from,
                       uint32_t index, double now) {
  if (find(from->work.id, index) != samples_.end())
    return; // Granted again while we still hold it: the work goes on.
  const auto id = next_++;
  auto& one = samples_[id];
  one.from = from;
  one.what.item = from->work.id;
  one.what.index = index;
  one.what.hops.granted = now;
  if (from->rule == weights_rule::none)
    start_example(id, one);
  else
    waiting_.push_back(id);
}

void rollout_core::start_example(key id, sample& one) {
  auto solutions = tools_.solutions(one.from->what);
  turn first;
  first.prompt = tools_.first_prompt(*one.from);
  if (!solutions.empty()) {
    // In an order of the run's own. A task with fewer solutions than asked for
    // repeats them; what is repeated is taught once.
    const auto order = shuffled(mix({one.from->how.seed, one.what.item}),
                                static_cast<uint32_t>(solutions.size()));
    first.text = solutions[order[one.what.index % order.size()]];
    first.response = tools_.encode_response(first.text);
  }
  one.what.turns.push_back(std::move(first));
  one.at = phase::queued;
  queued_.push_back(id);
}

void rollout_core::start_waiting(rollout_effects& out) {
  while (!waiting_.empty()) {
    auto it = samples_.find(waiting_.front());
    if (it != samples_.end()) {
      if (!may_start(*it->second.from))
        return;
      start_turn(it->first, it->second, out);
    }
    waiting_.pop_front();
  }
}

bool rollout_core::may_start(const grant& from) const {
  if (!loaded_)
    return false;
  if (from.rule == weights_rule::exactly && have_ != from.version)
    return false;
  if (from.rule == weights_rule::at_least && have_ < from.version)
    return false;
  // Rules never mix: an evaluation's weights do not change in flight.
  return std::none_of(samples_.begin(), samples_.end(), [&](auto& entry) {
    return entry.second.at == phase::decoding
           && entry.second.from->rule != from.rule;
  });
}

void rollout_core::start_turn(key id, sample& one, rollout_effects& out) {
  turn next;
  next.prompt = one.what.turns.empty()
                  ? tools_.first_prompt(*one.from)
                  : tools_.next_prompt(*one.from, one.what);
  sequence_request request;
  request.id = id;
  request.prompt = next.prompt;
  request.how = one.from->how;
  const auto room = limits_.max_tokens > next.prompt.size()
                      ? limits_.max_tokens - next.prompt.size()
                      : 0;
  request.how.max_new_tokens
    = std::min<uint32_t>(request.how.max_new_tokens, room);
  request.seed = sample_seed(one.from->how.seed, one.what.item, one.what.index,
                             static_cast<uint32_t>(one.what.turns.size()));
  one.what.turns.push_back(std::move(next));
  one.at = phase::decoding;
  out.generate.push_back(std::move(request));
}

void rollout_core::dispatch(rollout_effects& out) {
  for (size_t tries = queued_.size(); tries > 0; --tries) {
    const auto id = queued_.front();
    queued_.pop_front();
    auto it = samples_.find(id);
    if (it == samples_.end() || it->second.at != phase::queued)
      continue;
    auto& one = it->second;
    if (one.what.turns.back().text.empty() && one.from->rule
        == weights_rule::none) {
      finish_turn(id, one, no_solution(), one.what.hops.granted, out);
      continue;
    }
    auto pool = choose_pool(one);
    if (!pool) {
      queued_.push_back(id);
      continue;
    }
    --credit_[*pool];
    one.pool = *pool;
    one.at = phase::judging;
    out.verify.push_back(
      {*pool, {id, self_, one.from->what, one.what.turns.back().text}});
  }
}

std::optional<uint32_t> rollout_core::choose_pool(const sample& one) const {
  std::optional<uint32_t> best;
  for (auto& [pool, credit] : credit_) {
    const auto avoided = one.avoid == pool && credit_.size() > 1;
    if (credit > 0 && !avoided && (!best || credit > credit_.at(*best)))
      best = pool;
  }
  return best;
}

void rollout_core::finish_turn(key id, sample& one, verdict outcome,
                               double now, rollout_effects& out) {
  auto& last = one.what.turns.back();
  last.score = tools_.score(outcome);
  last.outcome = std::move(outcome);
  one.what.hops.verified = now;
  const auto round = static_cast<uint32_t>(one.what.turns.size());
  const auto charged = !is_uncharged(last.outcome.kind);
  if (last.score < success && charged && one.from->rule != weights_rule::none)
    last.feedback = tools_.feedback(last.outcome, round);
  if (last.score < success && charged && round < one.from->max_turns) {
    auto prompt = tools_.next_prompt(*one.from, one.what);
    if (prompt.size() < limits_.max_tokens) {
      one.at = phase::waiting;
      waiting_.push_back(id);
      start_waiting(out);
      return;
    }
  }
  submit(one, out);
}

void rollout_core::submit(sample& one, rollout_effects& out) {
  std::vector<double> scores;
  for (auto& each : one.what.turns)
    scores.push_back(each.score);
  one.what.ret = one.from->max_turns > 1 ? tools_.ret(scores) : scores.front();
  one.at = phase::submitting;
  out.submit.push_back({one.from->lease, one.what});
}

void rollout_core::drop_lease(uint64_t lease, rollout_effects& out) {
  for (auto it = samples_.begin(); it != samples_.end();) {
    if (it->second.from->lease != lease) {
      ++it;
      continue;
    }
    if (it->second.at == phase::decoding)
      out.cancel.push_back(it->first);
    if (it->second.at == phase::judging)
      out.cancel_verify.push_back({it->second.pool, it->first});
    it = samples_.erase(it);
  }
}

size_t rollout_core::count(phase at) const {
  return static_cast<size_t>(
    std::count_if(samples_.begin(), samples_.end(),
                  [at](auto& entry) { return entry.second.at == at; }));
}

std::map<rollout_core::key, rollout_core::sample>::iterator
rollout_core::find(uint64_t item, uint32_t index) {
  return std::find_if(samples_.begin(), samples_.end(), [&](auto& entry) {
    return entry.second.what.item == item && entry.second.what.index == index;
  });
}

} // namespace swage
