#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace swage {

/// Who holds a lease or a credit: never a handle, because a handle outlives a
/// reconnect.
struct owner {
  std::string node;
  uint64_t incarnation = 0; ///< Of the node's process.
  uint32_t actor = 0;       ///< Number of the actor in its kind on that node.

  friend bool operator==(const owner&, const owner&) = default;
  friend auto operator<=>(const owner&, const owner&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, owner& x) {
  return f.object(x).fields(f.field("node", x.node),
                            f.field("incarnation", x.incarnation),
                            f.field("actor", x.actor));
}

} // namespace swage
