#pragma once

#include "runtime/verify/build.hpp"
#include "runtime/verify/runner.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace swage::test {

/// The worker program that was built along with the tests.
std::filesystem::path worker_program();

/// A builder with an empty cache of its own, shared by the tests of a program.
builder& shared_builder();

/// A runner, shared by the tests of a program.
runner& shared_runner();

/// One float32 input x of `n` elements and one such output y.
signature vector_args(int64_t n = 1024);

/// The body of `kernel(const float* x, float* y, int64_t n)` as a candidate.
/// `before` stands in front of the function.
std::string candidate_with(std::string_view body, std::string_view before = {});

/// Compiles it, and fails the test if that fails.
artifact compiled(std::string_view code, const signature& args = vector_args());

/// A candidate that does the body whose number is in x[0], so that many are
/// compiled at once.
std::string candidate_of_many(const std::vector<std::string>& bodies,
                              std::string_view before = {});

/// What came of the first call, with x[0] = `choice` and zeros behind it.
outcome outcome_of(const artifact& code, size_t choice = 0,
                   double timeout_s = 5);

/// The same for a body that is compiled for it.
outcome outcome_of(std::string_view body, std::string_view before = {},
                   double timeout_s = 5);

} // namespace swage::test
