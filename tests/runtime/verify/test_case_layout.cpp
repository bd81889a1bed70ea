#include "runtime/verify/case_layout.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

using namespace swage;

namespace {

std::vector<tensor_slot> all_slots(const case_layout& layout) {
  auto all = layout.inputs;
  all.insert(all.end(), layout.state.begin(), layout.state.end());
  all.insert(all.end(), layout.outputs.begin(), layout.outputs.end());
  return all;
}

tensor_spec some_tensor() {
  return {"t",
          *rc::gen::element(dtype::float32, dtype::float64, dtype::bfloat16,
                            dtype::int64, dtype::boolean),
          *rc::gen::container<std::vector<int64_t>>(
            *rc::gen::inRange(0, 4), rc::gen::inRange<int64_t>(0, 40)),
          {}};
}

std::vector<tensor_spec> some_tensors() {
  std::vector<tensor_spec> list(*rc::gen::inRange<size_t>(0, 4));
  for (auto& one : list)
    one = some_tensor();
  return list;
}

} // namespace

TEST_CASE("a tensor ends where its region ends", "[verify][layout]") {
  signature args;
  args.inputs = {{"x", dtype::float32, {1024}, {}},
                 {"b", dtype::boolean, {3}, {}}};
  args.outputs = {{"y", dtype::float32, {1001}, {}}};
  auto layout = lay_out(args);
  CHECK(layout.inputs[0].offset == 0);
  CHECK(layout.inputs[0].region_bytes == 4096);
  CHECK(layout.inputs[1].offset == 4096 + 4096 - 64);
  CHECK(layout.outputs[0].bytes == 4004);
  CHECK(layout.outputs[0].offset == 2 * 4096 + 4096 - 4032);
  CHECK(layout.bytes == 3 * 4096);
}

TEST_CASE("a strided tensor holds its whole span", "[verify][layout]") {
  CHECK(storage_bytes({"x", dtype::float32, {3, 5}, {1, 4}}) == 4 * 19);
  CHECK(storage_bytes({"x", dtype::float32, {3, 5}, {0, 2}}) == 4 * 9);
  CHECK(storage_bytes({"x", dtype::float64, {3, 5}, {}}) == 8 * 15);
  CHECK(storage_bytes({"x", dtype::float64, {3, 0}, {9, 9}}) == 0);
  CHECK(storage_bytes({"x", dtype::float64, {}, {}}) == 8);
}

TEST_CASE("regions are apart, aligned and tight", "[verify][layout]") {
  CHECK(rc::check("for any signature", [] {
    signature args{some_tensors(), some_tensors(), some_tensors()};
    auto layout = lay_out(args);
    uint64_t end = 0;
    for (const auto& slot : all_slots(layout)) {
      RC_ASSERT(slot.region_offset == end);
      RC_ASSERT(slot.region_bytes % layout_page_bytes == 0);
      RC_ASSERT(slot.offset % layout_alignment == 0);
      RC_ASSERT(slot.offset >= slot.region_offset);
      end = slot.region_offset + slot.region_bytes;
      RC_ASSERT(slot.offset + slot.bytes <= end);
      RC_ASSERT(end - slot.offset - slot.bytes < layout_alignment);
    }
    RC_ASSERT(layout.bytes >= std::max(end, layout_page_bytes));
  }));
}

TEST_CASE("a changed byte beside a tensor shows", "[verify][layout]") {
  CHECK(rc::check("for any byte that no tensor owns", [] {
    signature args{some_tensors(), {}, some_tensors()};
    args.outputs.push_back({"y", dtype::float32, {5}, {}});
    auto memory = shared_memory::create(lay_out(args), 2);
    RC_ASSERT(memory.has_value());
    memory->poison(1);
    RC_ASSERT(!memory->damaged(0));
    RC_ASSERT(!memory->damaged(1));
    auto index = args.outputs.size() - 1;
    auto slot = memory->layout().outputs[index];
    auto behind = slot.region_offset + slot.region_bytes - slot.offset;
    auto distance = *rc::gen::inRange<uint64_t>(slot.bytes, behind);
    auto* start = memory->output(1, index).data();
    start[distance] ^= std::byte{1};
    RC_ASSERT(!memory->damaged(0));
    auto damage = memory->damaged(1);
    RC_ASSERT(damage.has_value());
    RC_ASSERT(damage->index == index);
    RC_ASSERT(damage->distance == distance - slot.bytes);
    memory->reset_canaries(1);
    RC_ASSERT(!memory->damaged(1));
  }));
}

TEST_CASE("poison fills outputs and nothing else", "[verify][layout]") {
  signature args;
  args.inputs = {{"x", dtype::float32, {9}, {}}};
  args.outputs = {{"y", dtype::float32, {9}, {}}};
  auto memory = shared_memory::create(lay_out(args), 1);
  REQUIRE(memory);
  memory->poison(0);
  auto* y = reinterpret_cast<float*>(memory->output(0, 0).data());
  CHECK(std::all_of(y, y + 9, [](float v) { return v != v; }));
  auto x = memory->input(0, 0);
  CHECK(std::all_of(x.begin(), x.end(),
                    [](std::byte b) { return b == std::byte{0}; }));
}
