#pragma once

#include "runtime/verify/judge_client.hpp"
#include "tests/runtime/verify/engine_fixture.hpp"

#include <filesystem>

namespace swage::test {

/// One judge for the whole program: importing torch takes seconds.
inline judge_client& judge() {
  static auto made = judge_client::start(
    from_environment("SWAGE_PYTHON"),
    std::filesystem::current_path() / "runtime/verify", 42);
  if (!made)
    FAIL(made.error().message);
  return **made;
}

} // namespace swage::test
