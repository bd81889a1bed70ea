#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

using namespace swage;
using namespace swage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct mistake {
  const char* body;
  category kind;
  const char* says;
};

// x and y have 1024 elements, so that their ends are at a page's end.
const mistake mistakes[] = {
  {"y[n + 1] = 1;", category::runtime_illegal_access,
   "wrote at byte offset 4100 of output 0 (y), past its end: it has 4096 "
   "bytes"},
  {"y[0] = ((volatile const float*)x)[n];", category::runtime_illegal_access,
   "read at byte offset 4096 of input 0 (x), past its end"},
  {"y[-1 - n] = 1;", category::runtime_illegal_access,
   "at byte offset -4100 of output 0 (y), before its begin"},
  {"*(volatile float*)nullptr = 1;", category::runtime_illegal_access,
   "wrote through a null or invalid pointer"},
  {"y[-n * n * n] = 1;", category::runtime_illegal_access,
   "belongs to no argument"},
  {"*(volatile float*)0x1234000000000000 = 1;",
   category::runtime_illegal_access,
   "accessed an address that no process can have"},
  {"const_cast<float*>(x)[3] = 1;", category::correctness_input_changed,
   "wrote at byte offset 12 of input 0 (x), which must not change"},
  {"volatile char big[32 << 20]; for (int i = 0; i < 32 << 20; i += 4096) "
   "big[i] = 1;",
   category::runtime_illegal_access, "stack overflowed"},
  {"volatile int zero = 0; y[0] = 7 / zero;", category::runtime_crash,
   "division by zero"},
  {"__builtin_trap();", category::runtime_crash, "illegal instruction"},
};

} // namespace

TEST_CASE("a fault names the argument it hit", "[verify][sandbox]") {
  std::vector<std::string> bodies;
  for (const auto& one : mistakes)
    bodies.emplace_back(one.body);
  auto code = compiled(candidate_of_many(bodies));
  for (size_t i = 0; i < bodies.size(); ++i) {
    const auto& one = mistakes[i];
    auto seen = outcome_of(code, i);
    CAPTURE(one.body, seen.detail);
    CHECK(std::string{to_string(seen.kind)} == to_string(one.kind));
    CHECK_THAT(seen.detail, ContainsSubstring(one.says));
  }
}

TEST_CASE("canaries show what no page fault can", "[verify][sandbox]") {
  auto args = vector_args(1001); // 4004 bytes: 28 bytes to the next 64.
  auto memory = shared_memory::create(lay_out(args), 2);
  REQUIRE(memory);
  auto process = shared_runner().launch(
    compiled(candidate_with("y[x[0] > 0 ? n + 2 : n - 1] = 1;"), args), args,
    *memory);
  REQUIRE(process);
  REQUIRE(process->call(0, 5).ok());
  CHECK_FALSE(memory->damaged(0));
  float one = 1;
  std::memcpy(memory->input(1, 0).data(), &one, sizeof one);
  REQUIRE(process->call(1, 5).ok());
  auto damage = memory->damaged(1);
  REQUIRE(damage);
  CHECK(damage->kind == argument_kind::output);
  CHECK(damage->distance == 8);
  CHECK_FALSE(damage->before);
}

TEST_CASE("calls take their data from their cases", "[verify][sandbox]") {
  signature args;
  args.inputs = {{"a", dtype::float32, {3, 5}, {1, 4}},
                 {"b", dtype::int64, {2}, {}}};
  args.state = {{"w", dtype::float64, {7}, {}}};
  args.outputs = {{"y", dtype::float32, {4}, {}},
                  {"mask", dtype::boolean, {1}, {}}};
  auto memory = shared_memory::create(lay_out(args), 3);
  REQUIRE(memory);
  auto process = shared_runner().launch(compiled(R"(
    extern "C" void kernel(const float* a, const int64_t* b, const double* w,
                           float* y, uint8_t* m, int64_t a0, int64_t a1,
                           int64_t s0, int64_t s1, int64_t b0) {
      y[0] = a[16];
      y[1] = b[b0 - 1];
      y[2] = w[6];
      y[3] = a0 * 1000 + a1 * 100 + s0 * 10 + s1;
      m[0] = 1;
    })",
                                                 args),
                                        args, *memory);
  REQUIRE(process);
  for (uint32_t which : {0u, 2u, 1u, 2u}) {
    auto at = [&](auto bytes, size_t index, auto value) {
      std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
    };
    at(memory->input(which, 0), 16, 1.5f + static_cast<float>(which));
    at(memory->input(which, 1), 1, int64_t{40} + which);
    at(memory->state(which, 0), 6, 0.25);
    memory->poison(which);
    auto seen = process->call(which, 5);
    CAPTURE(seen.detail);
    REQUIRE(seen.ok());
    float y[4];
    std::memcpy(y, memory->output(which, 0).data(), sizeof y);
    CHECK(y[0] == 1.5f + static_cast<float>(which));
    CHECK(y[1] == 40.f + static_cast<float>(which));
    CHECK(y[2] == 0.25f);
    CHECK(y[3] == 3514.f);
    CHECK(memory->output(which, 1)[0] == std::byte{1});
  }
}

TEST_CASE("a forged infrastructure fault is tampering", "[verify][sandbox]") {
  auto args = vector_args();
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  auto channel = control_channel::create(args, *memory, {});
  REQUIRE(channel);
  auto* forged = static_cast<control::page*>(
    ::mmap(nullptr, control::page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
           channel->fd(), 0));
  REQUIRE(forged != MAP_FAILED);
  forged->failed.why = static_cast<uint32_t>(control::cause::setup);
  CHECK(channel->wait(0, -1) == control_channel::news::fault);
  CHECK(channel->explain(args).kind == category::infra_worker);
  // Once something foreign was asked to load, nobody believes it.
  channel->post(control::request_kind::load);
  CHECK(channel->explain(args).kind == category::cheating_tampering);
  // Values out of range are only words.
  forged->failed.why = static_cast<uint32_t>(control::cause::signal);
  forged->failed.signal = 11;
  forged->failed.address = 1 << 30;
  forged->failed.tensor = 77;
  CHECK(channel->explain(args).kind == category::runtime_illegal_access);
  forged->failed.why = 12345;
  CHECK_FALSE(is_uncharged(channel->explain(args).kind));
  ::munmap(forged, control::page_bytes);
}
