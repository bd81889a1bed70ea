#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace swage {

/// One rank's end of the connections that join the ranks of a data-parallel
/// learner (c10d's Gloo, over loopback: the ranks share a process). All ranks
/// call the same functions in the same order, each on a thread of its own.
class gloo_collective {
public:
  /// Ends of `count` ranks. A rank waits for the others `deadline_s` at most,
  /// here and in each sum.
  static result<std::vector<std::unique_ptr<gloo_collective>>>
  connect(uint32_t count, double deadline_s);

  ~gloo_collective();

  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }

  /// Replaces `values` by their sum over the ranks, the same bits in each.
  /// `infra` if another rank did not come in time or is gone.
  result<void> sum(std::span<float> values);
  result<void> sum(std::span<double> values);

private:
  struct group;
  gloo_collective(uint32_t rank, uint32_t size);

  uint32_t rank_, size_;
  std::unique_ptr<group> group_;
};

} // namespace swage
