#include "runtime/verify/screen.hpp"

#include "runtime/task/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace swage {

namespace {

using tokens = std::span<const token>;

// Called, these mean something else than computing. The list holds no names
// that honest kernels give their own functions.
constexpr std::array<std::string_view, 34> forbidden_calls = {
  "system",
  "popen",
  "fork",
  "vfork",
  "execl",
  "execlp",
  "execle",
  "execv",
  "execvp",
  "execvpe",
  "execve",
  "posix_spawn",
  "posix_spawnp",
  "socket",
  "socketpair",
  "dlopen",
  "dlmopen",
  "dlsym",
  "syscall",
  "ptrace",
  "memfd_create",
  "shm_open",
  "fopen",
  "freopen",
  "sigaction",
  "unshare",
  "setns",
  "prctl",
  "process_vm_readv",
  "process_vm_writev",
  "dl_iterate_phdr",
  "pthread_kill",
  "quick_exit",
  "at_quick_exit"};

constexpr std::array<std::string_view, 3> assemblers = {"asm", "__asm",
                                                        "__asm__"};

constexpr std::array<std::string_view, 6> assembler_qualifiers = {
  "volatile", "__volatile", "__volatile__", "inline", "__inline__", "goto"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names,
              std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'
         || c == '.' || c == '$';
}

/// Appends what a plain string literal holds; false where its text does not
/// say so by itself.
bool append_literal(std::string_view literal, std::string& to) {
  if (literal.size() < 2 || literal.front() != '"' || literal.back() != '"')
    return false;
  auto inner = literal.substr(1, literal.size() - 2);
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      to += inner[i];
      continue;
    }
    if (++i == inner.size() || (inner[i] != 'n' && inner[i] != 't'))
      return false;
    to += inner[i] == 'n' ? '\n' : '\t';
  }
  return true;
}

/// Interrupts, and what the verifier's own code is called.
constexpr std::array<std::string_view, 5> forbidden_words = {
  "int", "int1", "int3", "into", "swage_call"};

/// Whether assembler text has only instructions that compute: no directive,
/// since some read files, no system call, no name of a forbidden function. The
/// assembler reads instructions and directives in either case.
bool only_computes(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    // A comment is nothing at all: in/**/t is an interrupt.
    if (text.substr(i).starts_with("*/") && i + 2 < text.size()
        && is_word(text[i + 2]))
      return false;
    // The sign of an address or a number.
    while (i < text.size() && text[i] == '$')
      ++i;
    std::string word;
    for (; i < text.size() && is_word(text[i]); ++i)
      word += static_cast<char>(
        std::tolower(static_cast<unsigned char>(text[i])));
    if (word.starts_with('.') || word.starts_with("sys")
        || contains(forbidden_words, word) || contains(forbidden_calls, word))
      return false;
    i += word.empty() ? 1 : 0;
  }
  return true;
}

/// Appends the text that the compiler makes of one with operands, which stay as
/// they are; false where it has more to say than they: {a|b}, or %+.
bool append_expanded(std::string_view text, std::string& to) {
  bool choice = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '}')
      choice = text[i] == '{';
    else if (text[i] == '|' && choice)
      return false;
    else if (text[i] != '%')
      to += text[i];
    else if (++i == text.size()
             || (!is_word(text[i])
                 && std::string_view{"%{|}=["}.find(text[i])
                      == std::string_view::npos))
      return false;
    else
      to.append({'%', text[i]});
  }
  return true;
}

rejection tampering(const token& where, std::string_view what) {
  return {category::cheating_tampering,
          fmt::format("line {}: {}", where.line, what)};
}

/// What stands right behind a token once lines are joined, if a joint is there,
/// else 0. Tokens end at a joint, the compiler's do not.
char behind_joint(std::string_view text) {
  bool joined = false;
  while (text.starts_with('\\')) {
    auto end = text.find_first_not_of(" \t\r\f\v", 1);
    if (end == std::string_view::npos || text[end] != '\n')
      return 0;
    text.remove_prefix(end + 1);
    joined = true;
  }
  return joined && !text.empty() ? text.front() : '\0';
}

/// Looks at one token with what stands around it.
class screener {
public:
  screener(std::string_view code, tokens all) : code_(code), all_(all) {}

  std::optional<rejection> run() {
    for (at_ = 0; at_ < all_.size(); ++at_)
      if (auto found = look())
        return found;
    return std::nullopt;
  }

private:
  const token& here() const { return all_[at_]; }
  bool next_is(std::string_view text, size_t ahead = 1) const {
    return at_ + ahead < all_.size() && is(all_[at_ + ahead], text);
  }
  bool previous_is(std::string_view text, size_t back = 1) const {
    return at_ >= back && is(all_[at_ - back], text);
  }

  /// Whether a name, a literal's prefix, or the mark of a comment or directive
  /// goes on in the next line.
  bool is_torn() const {
    auto text = here().text;
    auto end = static_cast<size_t>(text.data() - code_.data()) + text.size();
    char next = behind_joint(code_.substr(end));
    if (here().kind == token_kind::identifier)
      return next == '_' || next == '"' || next == '\''
             || std::isalnum(static_cast<unsigned char>(next)) != 0;
    return (is(here(), "/") && (next == '/' || next == '*'))
           || (is(here(), "%") && next == ':');
  }

  std::optional<rejection> look() {
    if (is_torn())
      return tampering(here(), "a word over two lines");
    if (here().kind == token_kind::directive)
      return directive();
    if (here().kind == token_kind::header)
      return header();
    if (here().kind == token_kind::identifier)
      return identifier();
    return brace();
  }

  std::optional<rejection> directive() {
    if (at_ + 1 >= all_.size())
      return std::nullopt;
    const auto& name = all_[at_ + 1];
    if (name.text == "line" || name.kind == token_kind::number)
      return tampering(name, "#line hides where errors are");
    if (name.text.starts_with("if"))
      conditional_ = true;
    if (name.text == "include" || name.text == "include_next")
      if (at_ + 2 >= all_.size() || all_[at_ + 2].kind != token_kind::header)
        return tampering(name, "an #include of what a macro makes");
    bool defines = name.text == "define" || name.text == "undef";
    if (defines && next_is("kernel", 2))
      return rejection{category::compile_bad_interface,
                       fmt::format("line {}: 'kernel' has to be a function, "
                                   "not a macro",
                                   name.line)};
    if (name.text == "pragma" && next_is("GCC", 2)
        && (next_is("dependency", 3) || next_is("pch_preprocess", 3)))
      return tampering(name, "a #pragma that reads a file");
    return std::nullopt;
  }

  std::optional<rejection> header() const {
    auto path = here().text;
    auto inner = path.substr(std::min<size_t>(1, path.size()));
    if (inner.starts_with('/') || inner.find("..") != std::string_view::npos)
      return tampering(here(), "an #include from outside the include folders");
    return std::nullopt;
  }

  std::optional<rejection> identifier() const {
    auto name = here().text;
    if (name == "swage_call")
      return tampering(here(), "'swage_call' belongs to the verifier");
    bool member = previous_is(".") || previous_is("->");
    if (member)
      return std::nullopt;
    if (contains(assemblers, name) && !is_harmless_assembler())
      return tampering(here(), "assembler that does more than compute");
    bool attribute = (name == "constructor" || name == "__constructor__"
                      || name == "destructor" || name == "__destructor__")
                     && (previous_is("(") || previous_is("::")
                         || previous_is(","))
                     && (next_is(")") || next_is("]") || next_is("(")
                         || next_is(","));
    if (attribute && (previous_is("gnu", 2) || previous_is("(", 2)))
      return tampering(here(), "code that runs before or after the kernel");
    if (!contains(forbidden_calls, name) || !next_is("("))
      return std::nullopt;
    bool own = previous_is("::") && at_ >= 2
               && all_[at_ - 2].kind == token_kind::identifier
               && !is(all_[at_ - 2], "std");
    if (own)
      return std::nullopt;
    return tampering(here(), fmt::format("a call of '{}'", name));
  }

  /// Of `asm volatile("instructions" : operands)`: strings only, as far as the
  /// operands.
  bool is_harmless_assembler() const {
    auto i = at_ + 1;
    auto at = [&](std::string_view text) {
      return i < all_.size() && is(all_[i], text);
    };
    while (i < all_.size() && contains(assembler_qualifiers, all_[i].text))
      ++i;
    if (!at("("))
      return false;
    std::string text;
    for (++i; i < all_.size() && all_[i].kind == token_kind::string; ++i)
      if (!append_literal(all_[i].text, text))
        return false;
    if (at(")"))
      return only_computes(text);
    std::string expanded;
    return (at(":") || at("::")) && append_expanded(text, expanded)
           && only_computes(text) && only_computes(expanded);
  }

  std::optional<rejection> brace() {
    if (is(here(), "{"))
      ++depth_;
    else if (is(here(), "}") && --depth_ < 0 && !conditional_)
      return rejection{
        category::compile_compiler,
        fmt::format("line {}: '}}' closes nothing", here().line)};
    return std::nullopt;
  }

  std::string_view code_;
  tokens all_;
  size_t at_ = 0;
  int64_t depth_ = 0;
  bool conditional_ = false; ///< Braces may be in branches that exclude others.
};

} // namespace

std::optional<rejection> screen(std::string_view code) {
  auto all = cpp_tokens(code);
  return screener{code, all}.run();
}

} // namespace swage
