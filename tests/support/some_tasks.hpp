#pragma once

#include "runtime/task/task.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage::test {

/// `n` tasks of levels 1 and 2, named by `prefix` and their number.
inline std::vector<task> some_tasks(const std::string& prefix, uint32_t n) {
  std::vector<task> out(n);
  for (uint32_t i = 0; i < n; ++i) {
    out[i].id = prefix + std::to_string(i);
    out[i].level = 1 + static_cast<int32_t>(i % 2);
    out[i].reference = "reference of " + out[i].id;
  }
  return out;
}

} // namespace swage::test
