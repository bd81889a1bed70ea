#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/policy/split_pattern.hpp"

#include <fmt/format.h>
#include <pcre2.h>

#include <memory>

namespace swage {

namespace {

// Unicode's White_Space. PCRE2's own \s has U+180E as well, which tokenizers
// that were trained with Oniguruma do not take for a space.
constexpr const char* white_space = R"(\x{9}-\x{d}\x{85}\p{Z})";

/// Rewrites \s and \S; empty where that is not possible (\S inside a class).
std::string translated(const std::string& pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      in_class = c == '[' || (in_class && c != ']');
      out += c;
      continue;
    }
    char escaped = pattern[++i];
    if (escaped == 'S' && in_class)
      return {};
    if (escaped == 's')
      out += in_class ? white_space : fmt::format("[{}]", white_space);
    else if (escaped == 'S')
      out += fmt::format("[^{}]", white_space);
    else
      out += {c, escaped};
  }
  return out;
}

struct match_deleter {
  void operator()(pcre2_match_data* x) const { pcre2_match_data_free(x); }
};

} // namespace

struct split_pattern::code {
  pcre2_code* compiled = nullptr;
  ~code() { pcre2_code_free(compiled); }
};

result<split_pattern> split_pattern::compile(const std::string& pattern) {
  auto text = translated(pattern);
  int status = 0;
  PCRE2_SIZE where = 0;
  auto out = std::make_shared<code>();
  if (!text.empty())
    out->compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), PCRE2_UTF | PCRE2_UCP, &status,
                                  &where, nullptr);
  if (!out->compiled)
    return fail(ec::unsupported,
                fmt::format("the pre-tokenizer's pattern '{}' cannot be used "
                            "(PCRE2 error {} at {})",
                            pattern, status, where));
  // Without the compiler of this machine matching is slower, not wrong.
  pcre2_jit_compile(out->compiled, PCRE2_JIT_COMPLETE);
  split_pattern made;
  made.code_ = std::move(out);
  return made;
}

std::vector<std::string_view>
split_pattern::split(std::string_view text) const {
  std::unique_ptr<pcre2_match_data, match_deleter> match{
    pcre2_match_data_create_from_pattern(code_->compiled, nullptr)};
  std::vector<std::string_view> out;
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t done = 0, from = 0;
  while (from < text.size()) {
    auto find = [&](uint32_t how) {
      return pcre2_match(code_->compiled, subject, text.size(), from,
                         PCRE2_NO_UTF_CHECK | how, match.get(), nullptr);
    };
    auto count = find(0);
    // Compiled matching has a small stack; interpreted matching has the heap.
    if (count == PCRE2_ERROR_JIT_STACKLIMIT)
      count = find(PCRE2_NO_JIT);
    if (count < 0)
      break;
    auto* span = pcre2_get_ovector_pointer(match.get());
    if (span[1] == span[0]) {
      // An empty match: step over one character.
      from = span[1] + 1;
      while (from < text.size() && (text[from] & 0xC0) == 0x80)
        ++from;
      continue;
    }
    if (span[0] > done)
      out.push_back(text.substr(done, span[0] - done));
    out.push_back(text.substr(span[0], span[1] - span[0]));
    done = from = span[1];
  }
  if (done < text.size())
    out.push_back(text.substr(done));
  return out;
}

} // namespace swage
