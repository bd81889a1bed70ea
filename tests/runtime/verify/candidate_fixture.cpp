#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace swage::test {

namespace {

struct scratch_folder {
  scratch_folder()
    : path(std::filesystem::temp_directory_path()
           / fmt::format("swage-test-{}", ::getpid())) {
    std::filesystem::create_directories(path);
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

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
  static scratch_folder folder;
  static auto made = value_of(builder::create(
    {worker_program(), folder.path, "runtime/verify/prelude.hpp"}));
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

outcome outcome_of(std::string_view body, std::string_view before,
                   double timeout_s) {
  auto args = vector_args();
  auto memory = value_of(shared_memory::create(lay_out(args), 1));
  sandbox_limits limits;
  limits.memory_bytes = uint64_t{256} << 20;
  auto process = value_of(shared_runner().launch(
    compiled(candidate_with(body, before)), args, memory, limits));
  return process.call(0, timeout_s);
}

} // namespace swage::test
