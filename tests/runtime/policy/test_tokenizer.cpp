#include "runtime/policy/mapped_file.hpp"
#include "runtime/policy/tokenizer.hpp"
#include "runtime/policy/utf8.hpp"
#include "tests/runtime/policy/oracle.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

using namespace swage;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using test::temporary_folder;
using test::write_file;

namespace {

/// A tokenizer without merges: one token a byte, and one special token.
json byte_tokenizer() {
  json vocabulary = json::object();
  int id = 0, moved = 256;
  for (int b = 0; b < 256; ++b) {
    bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172)
                     || b >= 174;
    int point = printable ? b : moved++;
    std::string spelling;
    if (point < 0x80)
      spelling += static_cast<char>(point);
    else
      spelling += {static_cast<char>(0xC0 | point >> 6),
                   static_cast<char>(0x80 | (point & 0x3F))};
    vocabulary[spelling] = id++;
  }
  return {{"model",
           {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}},
          {"pre_tokenizer", {{"type", "ByteLevel"}}},
          {"added_tokens",
           {{{"id", 256}, {"content", "<|end|>"}, {"special", true}}}}};
}

result<tokenizer> load(const json& content) {
  temporary_folder folder;
  write_file(folder.path() / "tokenizer.json", content.dump());
  return tokenizer::load(folder.path() / "tokenizer.json");
}

} // namespace

TEST_CASE("tokens are those of Hugging Face tokenizers",
          "[policy][tokenizer]") {
  temporary_folder folder;
  test::run_oracle({"tokenizer", folder.path().string()});
  auto made = tokenizer::load(folder.path() / "tokenizer.json");
  REQUIRE(made);
  auto cases = json::parse(*read_text(folder.path() / "cases.json"));
  REQUIRE(cases.size() > 100);
  for (auto& item : cases) {
    auto ids = item["ids"].get<std::vector<int32_t>>();
    if (item.contains("text")) {
      auto text = item["text"].get<std::string>();
      CAPTURE(text);
      CHECK(made->encode(text) == ids);
    }
    CAPTURE(ids);
    CHECK(repaired_utf8(made->decode(ids)) == item["decoded"]);
    CHECK(repaired_utf8(made->decode(ids, false)) == item["whole"]);
  }
}

TEST_CASE("any bytes survive encoding and decoding", "[policy][tokenizer]") {
  auto made = load(byte_tokenizer());
  REQUIRE(made);
  CHECK(rc::check([&](const std::string& bytes) {
    auto text = repaired_utf8(bytes);
    RC_ASSERT(is_utf8(text));
    RC_ASSERT(is_utf8(bytes) == (text == bytes));
    RC_ASSERT(made->decode(made->encode(bytes), false) == text);
  }));
}

TEST_CASE("special tokens are found in text and skipped",
          "[policy][tokenizer]") {
  auto made = load(byte_tokenizer());
  REQUIRE(made);
  CHECK(made->id("<|end|>") == 256);
  CHECK(made->id("<|none|>") == -1);
  CHECK(made->size() == 257);
  auto tokens = made->encode("a<|end|>b<|end");
  CHECK(tokens.size() == 2 + 1 + 5);
  CHECK(tokens[1] == 256);
  CHECK(made->decode(tokens) == "ab<|end");
  CHECK(made->decode(tokens, false) == "a<|end|>b<|end");
  CHECK(made->decode(std::vector<int32_t>{-1, 300}).empty());
}

TEST_CASE("unsupported tokenizer features are refused by name",
          "[policy][tokenizer]") {
  auto check = [](const char* path, json value, const char* what) {
    auto content = byte_tokenizer();
    content[json::json_pointer(path)] = std::move(value);
    auto refused = load(content);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ec::unsupported);
    CHECK_THAT(refused.error().message, ContainsSubstring(what));
  };
  check("/model/type", "Unigram", "Unigram");
  check("/model/byte_fallback", true, "byte_fallback");
  check("/normalizer", {{"type", "NFKC"}}, "NFKC");
  check("/pre_tokenizer", {{"type", "Whitespace"}}, "Whitespace");
  check("/pre_tokenizer/add_prefix_space", true, "add_prefix_space");
  check("/added_tokens/0/lstrip", true, "lstrip");
  check("/decoder", {{"type", "WordPiece"}}, "WordPiece");
}

TEST_CASE("a broken tokenizer file is corrupt", "[policy][tokenizer]") {
  auto content = byte_tokenizer();
  content["model"]["merges"] = {"a b"};
  CHECK(load(content).error().code == ec::corrupt);
  content["model"]["merges"] = {3};
  CHECK(load(content).error().code == ec::corrupt);
  content = byte_tokenizer();
  content["model"]["vocab"].erase("a");
  CHECK_THAT(load(content).error().message, ContainsSubstring("byte 97"));
}
