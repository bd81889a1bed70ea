#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace swage::test {

namespace {

template <class T>
T value_of(result<T> made) {
  if (!made)
    throw std::runtime_error(made.error().message);
  return std::move(*made);
}

} // namespace

std::filesystem::path worker_program() {
  const auto* bin = std::getenv("SWAGE_BIN");
  if (bin == nullptr)
    throw std::runtime_error("SWAGE_BIN has to name the folder of programs");
  return std::filesystem::path{bin} / "swage-worker";
}

builder& shared_builder() {
  static auto made = [] {
    // The precompiled prelude may stay from an earlier run, artifacts may not.
    auto folder = worker_program().parent_path().parent_path() / "test-builds";
    std::filesystem::remove_all(folder / "objects");
    return value_of(builder::create(
      {worker_program(), folder, "runtime/verify/prelude.hpp"}));
  }();
  return *made;
}

runner& shared_runner() {
  static auto made = value_of(runner::start({worker_program()}));
  return *made;
}

signature vector_args(int64_t n) {
  signature args;
  args.inputs = {{"x", dtype::float32, {n}, {}}};
  args.outputs = {{"y", dtype::float32, {n}, {}}};
  return args;
}

std::string candidate_with(std::string_view body, std::string_view before) {
  return fmt::format("{}\nextern \"C\" void kernel(const float* x, float* y, "
                     "int64_t n) {{\n{}\n}}\n",
                     before, body);
}

artifact compiled(std::string_view code, const signature& args) {
  auto made = shared_builder().build(code, args);
  if (!made)
    FAIL(to_string(made.error().kind) << ": " << made.error().detail);
  return std::move(*made);
}

std::string candidate_of_many(const std::vector<std::string>& bodies,
                              std::string_view before) {
  std::string functions{before}, cases;
  for (size_t i = 0; i < bodies.size(); ++i) {
    functions += fmt::format("\n[[maybe_unused]] static void deed_{}(const "
                             "float* x, float* y, int64_t n) {{\n{}\n}}\n",
                             i, bodies[i]);
    cases += fmt::format("case {0}: return deed_{0}(x, y, n);\n", i);
  }
  return candidate_with("switch (static_cast<int>(x[0])) {\n" + cases + "}",
                        functions);
}

outcome outcome_of(const artifact& code, size_t choice, double timeout_s) {
  auto args = vector_args();
  auto memory = value_of(shared_memory::create(lay_out(args), 1));
  auto number = static_cast<float>(choice);
  std::memcpy(memory.input(0, 0).data(), &number, sizeof number);
  sandbox_limits limits;
  limits.memory_bytes = uint64_t{256} << 20;
  auto process = value_of(shared_runner().launch(code, args, memory, limits));
  return process.call(0, timeout_s);
}

outcome outcome_of(std::string_view body, std::string_view before,
                   double timeout_s) {
  return outcome_of(compiled(candidate_with(body, before)), 0, timeout_s);
}

} // namespace swage::test
