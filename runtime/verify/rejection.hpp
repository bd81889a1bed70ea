#pragma once

#include "runtime/verify/verdict.hpp"

#include <string>

namespace swage {

/// Why a candidate got no further than a gate.
struct rejection {
  category kind = category::compile_no_code;
  std::string detail; ///< For a person and the policy; built without secrets.
};

} // namespace swage
