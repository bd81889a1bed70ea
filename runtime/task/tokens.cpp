#include "runtime/task/tokens.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace swage {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'
         || static_cast<unsigned char>(c) >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/// Walks over text once; each step consumes at least one character.
class scanner {
public:
  explicit scanner(std::string_view text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool looking_at(std::string_view what) const {
    return text_.substr(at_).starts_with(what);
  }

  void skip(size_t count = 1) {
    for (auto end = std::min(text_.size(), at_ + count); at_ < end; ++at_)
      line_ += text_[at_] == '\n' ? 1 : 0;
  }

  template <class Predicate>
  void skip_while(Predicate wanted) {
    while (!done() && wanted(peek()))
      skip();
  }

  void skip_past(std::string_view what) {
    auto found = text_.find(what, at_);
    skip((found == std::string_view::npos ? text_.size() : found + what.size())
         - at_);
  }

  /// The length of what joins two lines here, a backslash and a line's end, or
  /// 0. The C++ compiler overlooks blanks between them.
  size_t joint() const {
    if (peek() != '\\')
      return 0;
    size_t length = 1;
    while (is_blank(peek(length)))
      ++length;
    return peek(length) == '\n' ? length + 1 : 0;
  }

  /// To the end of a literal that a backslash escapes in and a line's end
  /// closes.
  void skip_quoted(char quote, bool cpp) {
    skip();
    while (!done() && peek() != quote && peek() != '\n')
      skip(std::max<size_t>(cpp ? joint() : 0, peek() == '\\' ? 2 : 1));
    if (peek() == quote)
      skip();
  }

  size_t position() const { return at_; }
  size_t line() const { return line_; }

  token since(size_t start, size_t line, token_kind kind) const {
    return {kind, text_.substr(start, at_ - start), line};
  }

private:
  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
};

void skip_identifier(scanner& in) {
  in.skip_while([](char c) { return is_letter(c) || is_digit(c) || c == '$'; });
}

bool starts_number(const scanner& in) {
  return is_digit(in.peek()) || (in.peek() == '.' && is_digit(in.peek(1)));
}

// With the sign of an exponent, but 0x1e-5 is a difference.
void skip_number(scanner& in) {
  bool hexadecimal = in.looking_at("0x") || in.looking_at("0X");
  auto continues = [&in] {
    char c = in.peek(), next = in.peek(1);
    bool separator = c == '\'' && (is_digit(next) || is_letter(next));
    return is_digit(c) || is_letter(c) || c == '.' || separator;
  };
  char last = '0', before = '0';
  auto is_exponent = [&] {
    return !hexadecimal && (last == 'e' || last == 'E')
           && (is_digit(before) || before == '.')
           && (in.peek() == '+' || in.peek() == '-') && is_digit(in.peek(1));
  };
  while (continues() || is_exponent()) {
    before = std::exchange(last, in.peek());
    in.skip();
  }
}

bool is_string_prefix(std::string_view name) {
  return name == "u8" || name == "u" || name == "U" || name == "L";
}

bool is_raw_prefix(std::string_view name) {
  return name == "R"
         || (name.ends_with('R')
             && is_string_prefix(name.substr(0, name.size() - 1)));
}

// R"tag( ... )tag", whose tag has at most 16 characters.
void skip_raw_string(scanner& in) {
  constexpr size_t max_tag = 16;
  in.skip();
  std::string closing = ")";
  while (!in.done() && in.peek() != '(' && closing.size() <= max_tag + 1) {
    closing += in.peek();
    in.skip();
  }
  in.skip_past(closing + "\"");
}

class cpp_lexer {
public:
  explicit cpp_lexer(std::string_view text) : in_(text) {}

  std::vector<token> run() {
    while (!in_.done())
      step();
    return std::move(tokens_);
  }

private:
  void step() {
    auto start = in_.position();
    auto line = in_.line();
    char c = in_.peek();
    if (c == '\n') {
      fresh_line_ = true;
      include_ = false;
      return in_.skip();
    }
    if (is_blank(c))
      return in_.skip();
    if (auto length = in_.joint(); length > 0)
      return in_.skip(length);
    if (in_.looking_at("//"))
      return skip_line_comment();
    if (in_.looking_at("/*")) {
      in_.skip(2);
      return in_.skip_past("*/");
    }
    auto kind = scan(c);
    tokens_.push_back(in_.since(start, line, kind));
    fresh_line_ = false;
    after_directive_ = kind == token_kind::directive;
  }

  token_kind scan(char c) {
    if (include_ && (c == '<' || c == '"')) {
      scan_header(c == '<' ? '>' : '"');
      return token_kind::header;
    }
    if (c == '#' && fresh_line_) {
      in_.skip();
      return token_kind::directive;
    }
    if (in_.looking_at("%:") && fresh_line_) { // The same, spelt otherwise.
      in_.skip(2);
      return token_kind::directive;
    }
    if (is_letter(c))
      return scan_name();
    if (starts_number(in_)) {
      skip_number(in_);
      return token_kind::number;
    }
    if (c == '"' || c == '\'') {
      in_.skip_quoted(c, true);
      return token_kind::string;
    }
    in_.skip(in_.looking_at("::") || in_.looking_at("->") ? 2 : 1);
    return token_kind::symbol;
  }

  token_kind scan_name() {
    auto start = in_.position();
    skip_identifier(in_);
    auto name = in_.since(start, 0, token_kind::identifier).text;
    if (in_.peek() == '"' && is_raw_prefix(name)) {
      skip_raw_string(in_);
      return token_kind::string;
    }
    if ((in_.peek() == '"' || in_.peek() == '\'') && is_string_prefix(name)) {
      in_.skip_quoted(in_.peek(), true);
      return token_kind::string;
    }
    include_ = after_directive_
               && (name == "include" || name == "include_next"
                   || name == "import");
    return token_kind::identifier;
  }

  void scan_header(char closing) {
    in_.skip();
    while (!in_.done() && in_.peek() != closing && in_.peek() != '\n')
      in_.skip();
    if (in_.peek() == closing)
      in_.skip();
    include_ = false;
  }

  // A backslash at its end continues a comment on the next line.
  void skip_line_comment() {
    while (!in_.done() && in_.peek() != '\n')
      in_.skip(std::max<size_t>(in_.joint(), 1));
  }

  scanner in_;
  std::vector<token> tokens_;
  bool fresh_line_ = true;
  bool after_directive_ = false;
  bool include_ = false;
};

bool is_python_prefix(std::string_view name) {
  return name.size() <= 2
         && name.find_first_not_of("rRbBuUfF") == std::string_view::npos;
}

class python_lexer {
public:
  explicit python_lexer(std::string_view text) : in_(text) {}

  std::vector<token> run() {
    indentation();
    while (!in_.done())
      step();
    return std::move(tokens_);
  }

private:
  void indentation() {
    auto start = in_.position();
    auto line = in_.line();
    in_.skip_while(is_blank);
    tokens_.push_back(in_.since(start, line, token_kind::indent));
  }

  void step() {
    auto start = in_.position();
    auto line = in_.line();
    char c = in_.peek();
    if (c == '\n')
      return end_line(start, line);
    if (is_blank(c))
      return in_.skip();
    if (c == '\\' && in_.peek(1) == '\n')
      return in_.skip(2);
    if (c == '#')
      return in_.skip_while([](char x) { return x != '\n'; });
    auto kind = scan(c);
    tokens_.push_back(in_.since(start, line, kind));
  }

  void end_line(size_t start, size_t line) {
    in_.skip();
    if (depth_ > 0)
      return;
    tokens_.push_back(in_.since(start, line, token_kind::newline));
    indentation();
  }

  token_kind scan(char c) {
    if (c == '"' || c == '\'')
      return scan_string(c);
    if (is_letter(c)) {
      auto start = in_.position();
      skip_identifier(in_);
      auto name = in_.since(start, 0, token_kind::identifier).text;
      char next = in_.peek();
      if ((next == '"' || next == '\'') && is_python_prefix(name))
        return scan_string(next);
      return token_kind::identifier;
    }
    if (starts_number(in_)) {
      skip_number(in_);
      return token_kind::number;
    }
    if (c == '(' || c == '[' || c == '{')
      ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0)
      --depth_;
    in_.skip();
    return token_kind::symbol;
  }

  token_kind scan_string(char quote) {
    std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
    if (!in_.looking_at(triple)) {
      in_.skip_quoted(quote, false);
      return token_kind::string;
    }
    in_.skip(3);
    while (!in_.done() && !in_.looking_at(triple))
      in_.skip(in_.peek() == '\\' ? 2 : 1);
    in_.skip(3);
    return token_kind::string;
  }

  scanner in_;
  std::vector<token> tokens_;
  size_t depth_ = 0;
};

} // namespace

std::vector<token> cpp_tokens(std::string_view text) {
  return cpp_lexer{text}.run();
}

std::vector<token> python_tokens(std::string_view text) {
  return python_lexer{text}.run();
}

} // namespace swage
