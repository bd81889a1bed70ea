#pragma once

#include "runtime/buffer/owner.hpp"
#include "runtime/error.hpp"
#include "runtime/weights/snapshot.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string_view>

namespace swage {

struct publisher_limits {
  uint64_t chunk_bytes = 1 << 20;
  double ticket_ttl_s = 60; ///< A ticket not used for so long is closed.
  uint32_t max_versions = 4; ///< Kept for pulls beside newest and pinned ones.
};

/// Which snapshots are kept: the newest, the pinned, and those being pulled.
/// Of the last, at most `max_versions`, the oldest go first: their pullers are
/// answered `stale` and begin again with the newest. So memory is bounded by
/// the pins, whatever the pullers do.
class publisher_core {
public:
  publisher_core(publisher_limits limits, uint64_t seed);

  /// `stale` if another snapshot of that version, or a newer one, is the newest;
  /// `corrupt` if the buffer is not what its manifest says.
  result<void> publish(snapshot weights, double now);

  /// `not_found` before the first version.
  result<manifest> newest() const;

  /// Shares the buffer; `not_found` if the version is not kept.
  result<snapshot> share(uint64_t version) const;

  struct ticket {
    uint64_t id = 0; ///< Not guessable from another ticket's.
    manifest what;
    uint32_t chunks = 0;
  };
  result<ticket> open(const owner& puller, uint64_t version, double now);

  /// Bytes of the index-th chunk; valid until the next call that is not const.
  /// `stale` if the ticket is not open, `invalid_argument` past the end.
  result<std::string_view> chunk(uint64_t ticket, uint32_t index, double now);

  void close(uint64_t ticket, double now);

  /// Keeps the version for this owner until its `unpin`; asked again, it is
  /// the same pin. `not_found` if the version is not kept.
  result<void> pin(const owner& who, uint64_t version);
  void unpin(const owner& who, uint64_t version, double now);

  /// Ends all tickets and pins of an owner that is gone.
  void owner_down(const owner& gone, double now);

  /// Closes tickets that were not used for too long.
  void tick(double now);

  size_t kept() const {
    return versions_.size();
  }

private:
  struct version {
    snapshot weights;
    std::set<owner> pins;
  };

  struct pull {
    owner puller;
    uint64_t version = 0;
    double used = 0;
  };

  void collect(double now);
  bool is_pulled(uint64_t version) const;
  void drop(uint64_t version);

  publisher_limits limits_;
  uint64_t state_;
  std::map<uint64_t, version> versions_;
  std::map<uint64_t, pull> pulls_; ///< By ticket.
};

} // namespace swage
