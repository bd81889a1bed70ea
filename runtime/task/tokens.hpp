#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace swage {

/// The kinds of token that a look at source text needs. Comments are dropped.
enum class token_kind : uint8_t {
  identifier,
  number,
  string,    ///< String or character literal, raw ones included.
  symbol,    ///< One punctuation character, or "::" or "->".
  directive, ///< The '#' that begins a C++ preprocessor line.
  header,    ///< The operand of an #include, with its delimiters.
  newline,   ///< Outside of brackets in Python; never in C++.
  indent,    ///< Blanks at the start of a Python line; may be empty.
};

/// Views into the text that was scanned.
struct token {
  token_kind kind = token_kind::symbol;
  std::string_view text;
  size_t line = 1; ///< From 1.
};

/// Whether it is this word or symbol, and not a string of that text.
inline bool is(const token& t, std::string_view text) {
  return t.kind != token_kind::string && t.text == text;
}

/// The tokens of C++ text. Any bytes are accepted; what is not closed ends at
/// the end. Linear time. Lines joined by a backslash are one line.
std::vector<token> cpp_tokens(std::string_view text);

/// The tokens of Python text, in the same way.
std::vector<token> python_tokens(std::string_view text);

} // namespace swage
