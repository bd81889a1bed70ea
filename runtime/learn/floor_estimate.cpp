#include "runtime/learn/floor_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace swage {

void floor_estimate::add(double mean_abs) {
  if (!std::isfinite(mean_abs))
    return; // Not a floor: the masks will show it.
  recent_.push_back(mean_abs);
  if (recent_.size() > window)
    recent_.pop_front();
}

double floor_estimate::value() const {
  return recent_.empty() ? 0 : *std::max_element(recent_.begin(), recent_.end());
}

} // namespace swage
