#pragma once

#include "runtime/buffer/grant.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace swage {

/// The buffer's volatile record of who works on which item.
struct lease {
  uint64_t id = 0;
  uint64_t item = 0;
  owner from;
  double expiry = 0; ///< Seconds of the asker's monotonic clock.
  weights_rule rule = weights_rule::at_least;
  uint64_t version = 0;
  /// False: expired or given up. It stays the item's current lease, so that
  /// its work still counts, until the item is granted again.
  bool active = true;
};

/// Leases, at most one current one per item. Changes can be taken back to the
/// last `keep`, when the transaction that they belong to was lost.
class lease_table {
public:
  /// Lease ids begin above `first`.
  void begin_at(uint64_t first) { last_id_ = first; }

  /// Makes `next` (without id) the item's current lease.
  const lease& give(lease next);

  /// The item's current lease, or null.
  const lease* of(uint64_t item) const;
  const lease* find(uint64_t id) const;

  bool is_active(uint64_t item) const;

  /// Renews the lease, also an inactive one, until `expiry`. False if it is
  /// not the current lease of its item, or another's.
  bool renew(uint64_t id, const owner& from, double expiry);

  /// Makes every active lease of `from` inactive that `held` does not name.
  void release_others(const owner& from, const std::vector<uint64_t>& held);

  /// Makes inactive what the node held up to this incarnation.
  void release_node(const std::string& node, uint64_t incarnation);

  /// Makes inactive what expired. If the call is late, by more than `interval`
  /// after the one before, every deadline moves by the delay first.
  void tick(double now, double interval);

  /// Forgets the item's lease: it is closed.
  void end(uint64_t item);

  void keep() { saved_.reset(); }
  void take_back();

  const std::map<uint64_t, lease>& by_item() const { return by_item_; }

private:
  std::map<uint64_t, lease>& changing();

  std::map<uint64_t, lease> by_item_;
  std::map<uint64_t, uint64_t> item_of_;
  std::optional<std::map<uint64_t, lease>> saved_;
  uint64_t last_id_ = 0;
  double last_tick_ = -1;
};

} // namespace swage
