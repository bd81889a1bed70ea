#include "runtime/verify/engine_canary.hpp"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace swage {

namespace {

constexpr int64_t length = 1000;
constexpr double timeout_s = 20;

constexpr const char* source = R"(
extern "C" void kernel(const float* x, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = 2.0f * x[i];
}
)";

signature arguments() {
  signature args;
  args.inputs.push_back({"x", dtype::float32, {length}, {}});
  args.outputs.push_back({"out", dtype::float32, {length}, {}});
  return args;
}

} // namespace

result<void> canary::sing(builder& compiler, runner& worker) {
  auto args = arguments();
  if (!built_) {
    auto made = compiler.build(source, args);
    if (!made)
      return fail(ec::infra, "the canary does not build: "
                               + made.error().detail);
    built_ = std::move(*made);
  }
  auto memory = shared_memory::create(lay_out(args), 1);
  if (!memory)
    return tl::unexpected{memory.error()};
  std::vector<float> values(length);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  std::memcpy(memory->input(0, 0).data(), values.data(),
              values.size() * sizeof(float));
  memory->poison(0);
  auto box = worker.launch(*built_, args, *memory, {});
  if (!box)
    return tl::unexpected{box.error()};
  if (auto done = box->call(0, timeout_s); !done.ok())
    return fail(ec::infra, fmt::format("the canary fails: {} {}",
                                       to_string(done.kind), done.detail));
  std::vector<float> got(length);
  std::memcpy(got.data(), memory->output(0, 0).data(),
              got.size() * sizeof(float));
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] != 2 * values[i])
      return fail(ec::infra, "the canary's result is wrong");
  return {};
}

} // namespace swage
