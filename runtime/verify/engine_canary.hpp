#pragma once

#include "runtime/error.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/runner.hpp"

#include <optional>

namespace swage {

/// A kernel that is known to be right. Run after a fault of our own: if it
/// fails, the machinery is broken, and no candidate is to be blamed.
class canary {
public:
  /// Builds it on first use and runs it once on fresh data.
  result<void> sing(builder& compiler, runner& worker);

private:
  std::optional<artifact> built_;
};

} // namespace swage
