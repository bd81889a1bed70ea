#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace swage {

/// The merges of a byte-pair encoding: what two neighbouring tokens become,
/// and which pair goes first.
class byte_pairs {
public:
  /// `rank` is the merge's place in the list: lower merges first.
  void add(int32_t left, int32_t right, int32_t rank, int32_t merged);

  /// Merges `tokens` until no pair of neighbours has a merge: each time the
  /// pair of lowest rank, the leftmost among equals. O(n log n).
  void merge(std::vector<int32_t>& tokens) const;

private:
  struct rule {
    int32_t rank;
    int32_t merged;
  };
  struct hash {
    size_t operator()(uint64_t key) const {
      key *= 0x9e3779b97f4a7c15u;
      return key ^ (key >> 32);
    }
  };

  const rule* find(int32_t left, int32_t right) const;

  std::unordered_map<uint64_t, rule, hash> rules_;
};

} // namespace swage
