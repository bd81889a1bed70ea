#include "runtime/buffer/lease_table.hpp"

#include <algorithm>

namespace swage {

std::map<uint64_t, lease>& lease_table::changing() {
  if (!saved_)
    saved_ = by_item_;
  return by_item_;
}

const lease& lease_table::give(lease next) {
  end(next.item);
  next.id = ++last_id_;
  item_of_[next.id] = next.item;
  return changing()[next.item] = std::move(next);
}

const lease* lease_table::of(uint64_t item) const {
  auto found = by_item_.find(item);
  return found == by_item_.end() ? nullptr : &found->second;
}

const lease* lease_table::find(uint64_t id) const {
  auto found = item_of_.find(id);
  return found == item_of_.end() ? nullptr : of(found->second);
}

bool lease_table::is_active(uint64_t item) const {
  auto* current = of(item);
  return current && current->active;
}

bool lease_table::renew(uint64_t id, const owner& from, double expiry) {
  auto* current = find(id);
  if (!current || current->from != from)
    return false;
  // A renewal is no change to take back: it only names a later time.
  auto& held = by_item_[current->item];
  held.expiry = expiry;
  held.active = true;
  return true;
}

void lease_table::release_others(const owner& from,
                                 const std::vector<uint64_t>& held) {
  for (auto& [item, one] : by_item_)
    if (one.active && one.from == from
        && std::find(held.begin(), held.end(), one.id) == held.end())
      one.active = false;
}

void lease_table::release_node(const std::string& node, uint64_t incarnation) {
  for (auto& [item, one] : by_item_)
    if (one.from.node == node && one.from.incarnation <= incarnation)
      one.active = false;
}

void lease_table::tick(double now, double interval) {
  double late = last_tick_ < 0 ? 0 : now - last_tick_ - interval;
  last_tick_ = now;
  for (auto& [item, one] : by_item_) {
    // Whoever slept this long may have slept with its clients' renewals unread.
    if (late > interval)
      one.expiry += late;
    if (one.expiry <= now)
      one.active = false;
  }
}

void lease_table::end(uint64_t item) {
  auto found = by_item_.find(item);
  if (found == by_item_.end())
    return;
  item_of_.erase(found->second.id);
  changing().erase(item);
}

void lease_table::take_back() {
  if (!saved_)
    return;
  by_item_ = std::move(*saved_);
  saved_.reset();
  item_of_.clear();
  for (auto& [item, one] : by_item_)
    item_of_[one.id] = item;
}

} // namespace swage
