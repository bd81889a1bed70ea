#include "runtime/policy/tokenizer.hpp"

#include "runtime/policy/mapped_file.hpp"
#include "runtime/policy/tokenizer_file.hpp"
#include "runtime/policy/utf8.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <array>
#include <cstdlib>

namespace swage {

namespace {

bool is_ascii(std::string_view text) {
  for (char c : text)
    if (static_cast<uint8_t>(c) >= 0x80)
      return false;
  return true;
}

/// Canonical composition (NFC). @pre Well-formed UTF-8.
std::string composed(std::string_view text) {
  utf8proc_uint8_t* made = nullptr;
  auto length = utf8proc_map(
    reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
    static_cast<utf8proc_ssize_t>(text.size()), &made,
    static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner{made,
                                                                &std::free};
  // It can only run out of memory here; the text itself is still usable.
  if (length < 0)
    return std::string{text};
  return {reinterpret_cast<const char*>(made), static_cast<size_t>(length)};
}

} // namespace

struct tokenizer::impl {
  tokenizer_file file;
  std::array<bool, 256> begins_added = {}; ///< First bytes of added tokens.

  /// The added token at the front of `text`, the longest, or none.
  const added_token* added_at(std::string_view text) const {
    if (!begins_added[static_cast<uint8_t>(text.front())])
      return nullptr;
    for (auto& token : file.added)
      if (text.starts_with(token.text))
        return &token;
    return nullptr;
  }

  void encode_word(std::string_view word, std::vector<int32_t>& out) const {
    if (file.ignore_merges)
      if (auto found = file.words.find(std::string{word});
          found != file.words.end()) {
        out.push_back(found->second);
        return;
      }
    thread_local std::vector<int32_t> tokens;
    tokens.clear();
    for (char c : word)
      tokens.push_back(file.byte_ids[static_cast<uint8_t>(c)]);
    if (tokens.size() > 1)
      file.merges.merge(tokens);
    out.insert(out.end(), tokens.begin(), tokens.end());
  }

  /// Encodes text without added tokens in it.
  void encode_plain(std::string_view text, std::vector<int32_t>& out) const {
    if (text.empty())
      return;
    std::string normal;
    if (file.compose && !is_ascii(text)) {
      normal = composed(text);
      text = normal;
    }
    if (!file.pattern)
      return encode_word(text, out);
    for (auto word : file.pattern->split(text))
      encode_word(word, out);
  }
};

tokenizer::tokenizer() : impl_(std::make_unique<impl>()) {}
tokenizer::~tokenizer() = default;
tokenizer::tokenizer(tokenizer&&) noexcept = default;
tokenizer& tokenizer::operator=(tokenizer&&) noexcept = default;

result<tokenizer> tokenizer::load(const std::filesystem::path& file) {
  auto text = read_text(file);
  if (!text)
    return tl::unexpected<error>(text.error());
  auto parsed = tokenizer_file::parse(*text);
  if (!parsed)
    return fail(parsed.error().code,
                fmt::format("'{}': {}", file.string(), parsed.error().message));
  tokenizer out;
  out.impl_->file = std::move(*parsed);
  for (auto& token : out.impl_->file.added)
    out.impl_->begins_added[static_cast<uint8_t>(token.text.front())] = true;
  return out;
}

std::vector<int32_t> tokenizer::encode(std::string_view text) const {
  std::string repaired;
  if (!is_utf8(text)) {
    repaired = repaired_utf8(text);
    text = repaired;
  }
  std::vector<int32_t> out;
  size_t plain = 0;
  for (size_t at = 0; at < text.size();) {
    auto* token = impl_->added_at(text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    impl_->encode_plain(text.substr(plain, at - plain), out);
    out.push_back(token->id);
    at += token->text.size();
    plain = at;
  }
  impl_->encode_plain(text.substr(plain), out);
  return out;
}

std::string tokenizer::decode(std::span<const int32_t> tokens,
                              bool skip_special) const {
  auto& file = impl_->file;
  std::string out;
  for (auto token : tokens) {
    auto index = static_cast<size_t>(token);
    // Models have more rows than their tokenizers have tokens.
    if (token < 0 || index >= file.bytes.size()
        || (skip_special && file.special[index]))
      continue;
    out += file.bytes[index];
  }
  return out;
}

int32_t tokenizer::id(std::string_view token) const {
  auto found = impl_->file.ids.find(std::string{token});
  return found == impl_->file.ids.end() ? -1 : found->second;
}

size_t tokenizer::size() const {
  return impl_->file.bytes.size();
}

} // namespace swage
