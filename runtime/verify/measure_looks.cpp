#include "runtime/verify/measure_looks.hpp"

#include <algorithm>

namespace swage {

namespace {

constexpr size_t few_pairs = 8, compared_among_few = 4;

/// Pairs from one test to the next, at least; and as a share of those that count.
constexpr size_t tests_apart = 2, slow_tests_apart = 4, share_apart = 3;

} // namespace

bool look_plan::compares(size_t counted, secret_seeds& seeds) const {
  return seeds.next() % std::max(counted, few_pairs) < compared_among_few;
}

bool look_plan::tests(size_t counted, secret_seeds& seeds) {
  auto now = next_++;
  if (now == end_) {
    auto apart = std::max(slow_ ? slow_tests_apart : tests_apart,
                          counted / share_apart);
    at_ = now + seeds.next() % apart;
    end_ = now + apart;
  }
  return now == at_;
}

} // namespace swage
