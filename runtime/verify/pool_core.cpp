#include "runtime/verify/pool_core.hpp"

#include <algorithm>
#include <utility>

namespace swage {

pool_core::pool_core(uint32_t slots)
  : running_(std::max(1u, slots)), abandoned_(running_.size(), false) {
  // nop
}

uint32_t pool_core::on_credit(const owner& asker, uint32_t have,
                              uint32_t want) {
  unused_[asker] = have;
  const auto mine = held_by(asker);
  const auto place = std::find(hungry_.begin(), hungry_.end(), asker);
  if (want == 0) {
    if (place != hungry_.end())
      hungry_.erase(place);
    if (mine == 0)
      unused_.erase(asker); // Shares are for those who have work.
    return 0;
  }
  // One credit is kept for each of those who wait before this one.
  const auto taken
    = outstanding() + static_cast<uint32_t>(place - hungry_.begin());
  if (mine >= share() || taken >= capacity()) {
    if (mine == 0 && place == hungry_.end())
      hungry_.push_back(asker);
    return 0;
  }
  if (place != hungry_.end())
    hungry_.erase(place);
  const auto granted = std::min({want, share() - mine, capacity() - taken});
  unused_[asker] += granted;
  return granted;
}

pool_effects pool_core::on_verify(verify_request request) {
  auto& unused = unused_[request.from];
  if (unused > 0)
    --unused;
  if (has(request))
    return {}; // Sent again, its answer was late: judged once.
  queue_.push_back(std::move(request));
  return fill();
}

/// Whether the verdict that this request asks for is on its way already.
bool pool_core::has(const verify_request& request) const {
  auto same = [&](const verify_request& one) {
    return one.from == request.from && one.id == request.id;
  };
  for (uint32_t slot = 0; slot < slots(); ++slot)
    if (running_[slot] && same(*running_[slot]) && !abandoned_[slot])
      return true;
  return std::any_of(queue_.begin(), queue_.end(), same);
}

pool_effects pool_core::on_done(uint32_t slot, verdict outcome) {
  pool_effects out;
  if (slot < running_.size() && running_[slot]) {
    auto request = std::exchange(running_[slot], std::nullopt);
    const bool wanted = !abandoned_[slot];
    abandoned_[slot] = false;
    if (wanted) {
      verify_reply reply{request->id, std::move(outcome), 0};
      if (may_return_to(request->from)) {
        reply.credit = 1;
        ++unused_[request->from];
      }
      out.answer.push_back({request->from, std::move(reply)});
    }
  }
  out.start = fill().start;
  return out;
}

pool_effects pool_core::on_cancel(const owner& asker, uint64_t id) {
  auto is_it = [&](const verify_request& request) {
    return request.from == asker && request.id == id;
  };
  std::erase_if(queue_, is_it);
  pool_effects out;
  for (uint32_t slot = 0; slot < slots(); ++slot)
    if (running_[slot] && is_it(*running_[slot]) && !abandoned_[slot]) {
      abandoned_[slot] = true;
      out.abandon.push_back(slot);
    }
  return out;
}

pool_effects pool_core::on_owner_down(const owner& gone) {
  std::erase_if(queue_, [&](auto& request) { return request.from == gone; });
  unused_.erase(gone);
  std::erase(hungry_, gone);
  pool_effects out;
  for (uint32_t slot = 0; slot < slots(); ++slot)
    if (running_[slot] && running_[slot]->from == gone && !abandoned_[slot]) {
      abandoned_[slot] = true;
      out.abandon.push_back(slot);
    }
  return out;
}

uint32_t pool_core::busy() const {
  return static_cast<uint32_t>(std::count_if(
    running_.begin(), running_.end(), [](auto& r) { return r.has_value(); }));
}

uint32_t pool_core::share() const {
  const auto owners = std::max<size_t>(1, unused_.size());
  return std::max(1u, static_cast<uint32_t>(capacity() / owners));
}

uint32_t pool_core::outstanding() const {
  uint32_t n = busy() + static_cast<uint32_t>(queue_.size());
  for (auto& [asker, unused] : unused_)
    n += unused;
  return n;
}

uint32_t pool_core::spare() const {
  return capacity() - std::min(capacity(), outstanding());
}

/// Whoever has none at all comes first.
bool pool_core::may_return_to(const owner& asker) const {
  return held_by(asker) < share()
         && outstanding() + hungry_.size() < capacity();
}

uint32_t pool_core::held_by(const owner& asker) const {
  auto mine = [&](const verify_request& request) {
    return request.from == asker;
  };
  auto n = static_cast<uint32_t>(
    std::count_if(queue_.begin(), queue_.end(), mine));
  for (auto& slot : running_)
    n += slot && mine(*slot) ? 1 : 0;
  auto it = unused_.find(asker);
  return n + (it == unused_.end() ? 0 : it->second);
}

pool_effects pool_core::fill() {
  pool_effects out;
  for (uint32_t slot = 0; slot < slots() && !queue_.empty(); ++slot)
    if (!running_[slot]) {
      running_[slot] = std::move(queue_.front());
      queue_.pop_front();
      out.start.push_back({slot, *running_[slot]});
    }
  return out;
}

} // namespace swage
