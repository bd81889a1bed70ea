#include "runtime/policy/tokenizer_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace swage {

namespace {

using nlohmann::json;

// What a ByteLevel step splits by when it has no Split step before it.
constexpr const char* byte_level_pattern =
  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A byte in a token's spelling: printable bytes are themselves, the others
/// are moved behind U+0100, so that every token is readable text.
std::array<char32_t, 256> byte_spelling() {
  std::array<char32_t, 256> out = {};
  char32_t next = 256;
  for (char32_t b = 0; b < 256; ++b) {
    bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172)
                     || b >= 174;
    out[b] = printable ? b : next++;
  }
  return out;
}

std::string encoded(char32_t c) {
  if (c < 0x80)
    return {static_cast<char>(c)};
  // The spelling stays below U+0800.
  return {static_cast<char>(0xC0 | c >> 6),
          static_cast<char>(0x80 | (c & 0x3F))};
}

class parser {
public:
  explicit parser(const json& root) : root_(root) {
    auto spelling = byte_spelling();
    for (size_t b = 0; b < spelling.size(); ++b)
      byte_of_[encoded(spelling[b])] = static_cast<char>(b);
  }

  result<tokenizer_file> run() {
    for (auto step :
         {&parser::model, &parser::merges, &parser::added, &parser::normalizer,
          &parser::pre_tokenizer, &parser::other_steps})
      if (auto done = (this->*step)(); !done)
        return tl::unexpected<error>(done.error());
    return std::move(out_);
  }

private:
  using step_result = result<void>;

  static step_result unsupported(const std::string& what) {
    return fail(ec::unsupported,
                fmt::format("{} is not supported; byte-level BPE is", what));
  }

  const json& part(const json& from, const char* key) const {
    static const json nothing;
    return from.is_object() && from.contains(key) ? from[key] : nothing;
  }

  /// Makes room for `id` and stores its bytes.
  step_result store(int64_t id, std::string bytes) {
    if (id < 0 || id >= (1 << 24))
      return fail(ec::corrupt, fmt::format("token id {} is out of range", id));
    auto index = static_cast<size_t>(id);
    if (index >= out_.bytes.size()) {
      out_.bytes.resize(index + 1);
      out_.special.resize(index + 1);
    }
    out_.bytes[index] = std::move(bytes);
    return {};
  }

  /// The bytes that a spelling stands for; spellings outside the alphabet
  /// stand for themselves, as in added tokens.
  std::string bytes_of(const std::string& spelling) const {
    std::string out;
    for (size_t i = 0; i < spelling.size();) {
      size_t length = static_cast<uint8_t>(spelling[i]) < 0x80 ? 1 : 2;
      auto found = byte_of_.find(spelling.substr(i, length));
      if (found == byte_of_.end())
        return spelling;
      out += found->second;
      i += length;
    }
    return out;
  }

  step_result model() {
    auto& model = part(root_, "model");
    if (part(model, "type") != "BPE")
      return unsupported(fmt::format("a tokenizer model of type {}",
                                     part(model, "type").dump()));
    if (part(model, "byte_fallback") == true)
      return unsupported("byte_fallback");
    for (auto* key :
         {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
      if (!part(model, key).is_null() && part(model, key) != "")
        return unsupported(key);
    out_.ignore_merges = part(model, "ignore_merges") == true;
    auto& vocabulary = part(model, "vocab");
    if (!vocabulary.is_object())
      return fail(ec::corrupt, "model.vocab is not an object");
    for (auto& [spelling, id] : vocabulary.items()) {
      if (!id.is_number_integer())
        return fail(ec::corrupt,
                    fmt::format("token '{}' has no integer id", spelling));
      auto bytes = bytes_of(spelling);
      out_.ids[spelling] = id;
      if (out_.ignore_merges)
        out_.words[bytes] = id;
      if (auto stored = store(id, std::move(bytes)); !stored)
        return stored;
    }
    return single_bytes();
  }

  step_result single_bytes() {
    for (auto& [spelling, byte] : byte_of_) {
      auto found = out_.ids.find(spelling);
      if (found == out_.ids.end())
        return fail(ec::unsupported,
                    fmt::format("the vocabulary has no token for byte {}; "
                                "train it with the byte-level alphabet",
                                static_cast<uint8_t>(byte)));
      out_.byte_ids[static_cast<uint8_t>(byte)] = found->second;
    }
    return {};
  }

  /// "left right" or ["left", "right"].
  static bool pair_of(const json& merge, std::string& left,
                      std::string& right) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string()
        && merge[1].is_string()) {
      left = merge[0];
      right = merge[1];
      return true;
    }
    if (!merge.is_string())
      return false;
    std::string text = merge;
    auto space = text.find(' ');
    if (space == std::string::npos)
      return false;
    left = text.substr(0, space);
    right = text.substr(space + 1);
    return true;
  }

  step_result merges() {
    auto& list = part(part(root_, "model"), "merges");
    if (!list.is_array())
      return fail(ec::corrupt, "model.merges is not a list");
    int32_t rank = 0;
    for (auto& merge : list) {
      std::string left, right;
      if (!pair_of(merge, left, right))
        return fail(ec::corrupt, fmt::format("merge {} is not a pair: {}", rank,
                                             merge.dump()));
      auto a = out_.ids.find(left), b = out_.ids.find(right),
           both = out_.ids.find(left + right);
      if (a == out_.ids.end() || b == out_.ids.end() || both == out_.ids.end())
        return fail(ec::corrupt,
                    fmt::format("merge {} ('{}' and '{}') is not made of "
                                "tokens",
                                rank, left, right));
      out_.merges.add(a->second, b->second, rank++, both->second);
    }
    return {};
  }

  step_result added() {
    for (auto& token : part(root_, "added_tokens")) {
      if (!part(token, "content").is_string()
          || !part(token, "id").is_number_integer())
        return fail(ec::corrupt, "an added token lacks content or id");
      added_token item{token["content"], token["id"],
                       part(token, "special") == true};
      if (item.text.empty())
        return fail(ec::corrupt, "an added token is empty");
      for (auto* key : {"single_word", "lstrip", "rstrip"})
        if (part(token, key) == true)
          return unsupported(
            fmt::format("added token '{}' with {}", item.text, key));
      out_.ids[item.text] = item.id;
      if (auto stored = store(item.id, item.text); !stored)
        return stored;
      out_.special[static_cast<size_t>(item.id)] = item.special;
      out_.added.push_back(std::move(item));
    }
    std::stable_sort(
      out_.added.begin(), out_.added.end(),
      [](auto& a, auto& b) { return a.text.size() > b.text.size(); });
    return {};
  }

  step_result normalizer() {
    auto& step = part(root_, "normalizer");
    auto steps = part(step, "type") == "Sequence" ? part(step, "normalizers")
                 : step.is_null()                 ? json::array()
                                                  : json::array({step});
    for (auto& item : steps) {
      if (part(item, "type") != "NFC")
        return unsupported(
          fmt::format("normalizer {}", part(item, "type").dump()));
      out_.compose = true;
    }
    return {};
  }

  step_result pre_tokenizer() {
    auto& step = part(root_, "pre_tokenizer");
    auto steps = part(step, "type") == "Sequence" ? part(step, "pretokenizers")
                                                  : json::array({step});
    bool byte_level = false;
    for (auto& item : steps) {
      auto& type = part(item, "type");
      auto& regex = part(part(item, "pattern"), "Regex");
      bool split = type == "Split" && part(item, "behavior") == "Isolated"
                   && part(item, "invert") != true && regex.is_string();
      if (byte_level || (!split && type != "ByteLevel")
          || (split && out_.pattern) || part(item, "add_prefix_space") == true)
        return unsupported(fmt::format("pre-tokenizer step {}", item.dump()));
      byte_level = type == "ByteLevel";
      bool own = byte_level && part(item, "use_regex") != false;
      if (own && out_.pattern)
        return unsupported("a ByteLevel step that splits after a Split step");
      if (!split && !own)
        continue;
      auto pattern = split_pattern::compile(own ? byte_level_pattern
                                                : regex.get<std::string>());
      if (!pattern)
        return tl::unexpected<error>(pattern.error());
      out_.pattern = std::move(*pattern);
    }
    if (!byte_level)
      return unsupported("a pre-tokenizer without a ByteLevel step");
    return {};
  }

  step_result other_steps() {
    for (auto* key : {"post_processor", "decoder"}) {
      auto& type = part(part(root_, key), "type");
      if (!type.is_null() && type != "ByteLevel")
        return unsupported(fmt::format("{} {}", key, type.dump()));
    }
    return {};
  }

  const json& root_;
  std::unordered_map<std::string, char> byte_of_;
  tokenizer_file out_;
};

} // namespace

result<tokenizer_file> tokenizer_file::parse(const std::string& text) {
  auto root = json::parse(text, nullptr, false);
  if (!root.is_object())
    return fail(ec::corrupt, "not a JSON object");
  return parser{root}.run();
}

} // namespace swage
