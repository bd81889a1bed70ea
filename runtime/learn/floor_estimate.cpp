#include "runtime/learn/floor_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace swage {

void floor_estimate::add(double mean_abs) {
  if (!std::isfinite(mean_abs))
    return; // Not a floor: the masks will show it.
  recent_.push_back(mean_abs);
  if (recent_.size() > window)
    recent_.pop_front();
}

double floor_estimate::value() const {
  if (recent_.empty())
    return 0;
  std::vector<double> sorted{recent_.begin(), recent_.end()};
  auto middle = sorted.begin() + static_cast<long>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

} // namespace swage
