#pragma once

#include "runtime/verify/engine_seeds.hpp"

#include <cstddef>

namespace swage {

/// Which calls are looked at while a candidate is timed. By how many pairs count
/// so far, since that many more move a median: who makes the system look
/// unsteady, so that more pairs are tried, is looked at no less.
class look_plan {
public:
  /// @param slow Whether a look takes so long that there are to be fewer.
  explicit look_plan(bool slow) : slow_{slow} {
  }

  /// Whether to compare the result of a call: of the first pairs' every second,
  /// of later ones' fewer; about three of any half of them all.
  bool compares(size_t counted, secret_seeds& seeds) const;

  /// Whether a call with a test's inputs comes before the next pair: one at a
  /// drawn place among two at first, among more later; about two in any later
  /// half. To be asked once before each pair.
  bool tests(size_t counted, secret_seeds& seeds);

private:
  bool slow_;
  size_t next_ = 0; ///< The pair that is asked about.
  size_t at_ = 0;   ///< That of the next test,
  size_t end_ = 0;  ///< and the one that the test after it is drawn at.
};

} // namespace swage
