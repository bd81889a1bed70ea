#include "runtime/policy/safetensors.hpp"
#include "tests/runtime/policy/oracle.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <rapidcheck.h>

#include <cstring>
#include <numeric>

using namespace swage;
using Catch::Matchers::ContainsSubstring;
using test::temporary_folder;
using test::write_file;

namespace {

/// A file as another writer would make it: any header, any data.
std::string file_with(const std::string& header, size_t data_bytes) {
  uint64_t length = header.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  return out + header + std::string(data_bytes, 'x');
}

std::string refusal_of(const std::string& content) {
  temporary_folder folder;
  auto path = folder.path() / "x.safetensors";
  write_file(path, content);
  auto opened = safetensors_file::open(path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ec::corrupt);
  CHECK_THAT(opened.error().message, ContainsSubstring(path.string()));
  return opened.error().message;
}

/// Touches every byte that the file claims to hold.
uint64_t read_all(const safetensors_file& file) {
  uint64_t sum = 0;
  for (auto& [name, tensor] : file.tensors())
    for (auto byte : tensor.data)
      sum += static_cast<uint64_t>(byte);
  return sum;
}

} // namespace

TEST_CASE("tensors come back as they were written", "[policy][safetensors]") {
  temporary_folder folder;
  auto path = folder.path() / "x.safetensors";
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.5f);
  std::vector<int64_t> numbers = {-1, 7};
  std::map<std::string, stored_tensor> tensors{
    {"b.weight", {"F32", {3, 4}, std::as_bytes(std::span{values})}},
    {"a", {"I64", {2}, std::as_bytes(std::span{numbers})}},
    {"empty", {"F16", {0, 5}, {}}}};
  REQUIRE(write_safetensors(path, tensors, {{"format", "pt"}}));
  auto file = safetensors_file::open(path);
  REQUIRE(file);
  CHECK(file->metadata() == string_map{{"format", "pt"}});
  REQUIRE(file->tensors().size() == 3);
  auto found = file->find("b.weight");
  REQUIRE(found);
  CHECK(found->shape == std::vector<int64_t>{3, 4});
  std::vector<float> read(12);
  REQUIRE(to_float32(*found, read));
  CHECK(read == values);
  CHECK(file->find("missing").error().code == ec::not_found);
}

TEST_CASE("half precision converts to float exactly", "[policy][safetensors]") {
  std::vector<uint16_t> half = {0x3C00, 0xC000, 0x0001, 0x8000, 0x7BFF};
  std::vector<uint16_t> brain = {0x3F80, 0xC000, 0x0080, 0x8000, 0x7F7F};
  std::vector<float> out(5);
  REQUIRE(to_float32({"F16", {5}, std::as_bytes(std::span{half})}, out));
  CHECK(out == std::vector<float>{1, -2, 0x1p-24f, -0.0f, 65504});
  REQUIRE(to_float32({"BF16", {5}, std::as_bytes(std::span{brain})}, out));
  CHECK(out == std::vector<float>{1, -2, 0x1p-126f, -0.0f, 0x1.fep127f});
  auto refused = to_float32({"I16", {5}, std::as_bytes(std::span{half})}, out);
  CHECK(refused.error().code == ec::unsupported);
}

TEST_CASE("a corrupt header is refused with its reason",
          "[policy][safetensors]") {
  CHECK_THAT(refusal_of("short"), ContainsSubstring("too few"));
  CHECK_THAT(refusal_of(std::string(8, '\xff')),
             ContainsSubstring("header claims"));
  CHECK_THAT(refusal_of(file_with("[1]", 0)),
             ContainsSubstring("not a JSON object"));
  CHECK_THAT(refusal_of(file_with("{\"a\":", 0)),
             ContainsSubstring("not a JSON object"));
  CHECK_THAT(refusal_of(file_with(
               R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4)),
             ContainsSubstring("unknown dtype 'F99'"));
  CHECK_THAT(refusal_of(file_with(
               R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4)),
             ContainsSubstring("tensor 'a' has 8 bytes"));
  CHECK_THAT(refusal_of(file_with(
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
               8)),
             ContainsSubstring("begins at 0"));
  CHECK_THAT(refusal_of(file_with(
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)),
             ContainsSubstring("begins at 4"));
  CHECK_THAT(refusal_of(file_with(
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3)),
             ContainsSubstring("there are 3 bytes"));
  CHECK_THAT(refusal_of(file_with(
               R"({"a":{"dtype":"F64","shape":[4611686018427387904,8],)"
               R"("data_offsets":[0,0]}})",
               0)),
             ContainsSubstring("larger than memory"));
}

TEST_CASE("a missing file is told from a broken one", "[policy][safetensors]") {
  auto opened = safetensors_file::open("/proc/none/x.safetensors");
  CHECK(opened.error().code == ec::not_found);
}

TEST_CASE("whatever is accepted can be read whole", "[policy][safetensors]") {
  temporary_folder folder;
  auto path = folder.path() / "x.safetensors";
  std::vector<float> values(6, 1.0f);
  std::map<std::string, stored_tensor> tensors{
    {"a", {"F32", {2, 3}, std::as_bytes(std::span{values})}},
    {"b", {"U8", {24}, std::as_bytes(std::span{values})}}};
  REQUIRE(write_safetensors(path, tensors, {{"k", "v"}}));
  auto content = read_text(path);
  REQUIRE(content);
  bool held = rc::check([&] {
    auto broken = *content;
    auto edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) {
      auto at = *rc::gen::inRange<size_t>(0, broken.size());
      if (*rc::gen::inRange(0, 8) == 0)
        broken.resize(at + 1);
      else
        broken[at] = *rc::gen::element('0', '9', '[', ',', '"', '\0', '\xff',
                                       '-', '}', '8');
    }
    write_file(path, broken);
    auto file = safetensors_file::open(path);
    if (file)
      read_all(*file);
    else
      RC_ASSERT(file.error().code == ec::corrupt);
  });
  CHECK(held);
}
