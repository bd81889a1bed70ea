#include "runtime/task/tokens.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <string>
#include <vector>

using namespace swage;

namespace {

std::vector<std::string> texts(const std::vector<token>& tokens) {
  std::vector<std::string> all;
  for (const auto& t : tokens)
    all.emplace_back(t.text);
  return all;
}

using list = std::vector<std::string>;

/// Characters that change a lexer's mind, far more often than chance would.
rc::Gen<std::string> nasty_text() {
  return rc::gen::container<std::string>(rc::gen::oneOf(
    rc::gen::element('"', '\'', '\\', '/', '*', '\n', '#', 'R', '(', ')', '{',
                     '}', '<', '>', ' ', 'u', '8', '.', '%', ':', '_'),
    rc::gen::arbitrary<char>()));
}

} // namespace

TEST_CASE("comments and literals are no C++ code", "[task][tokens]") {
  CHECK(texts(cpp_tokens("a/*b*/c // d\ne")) == list{"a", "c", "e"});
  CHECK(texts(cpp_tokens("// a \\\n still\nb")) == list{"b"});
  CHECK(texts(cpp_tokens("\"a\\\"//b\" c")) == list{"\"a\\\"//b\"", "c"});
  CHECK(texts(cpp_tokens("u8\"x\" L'y'")) == list{"u8\"x\"", "L'y'"});
  CHECK(texts(cpp_tokens("R\"t(a\")b)t\" c")) == list{"R\"t(a\")b)t\"", "c"});
  CHECK(texts(cpp_tokens("1'000.5e3f+x->y::z"))
        == list{"1'000.5e3f", "+", "x", "->", "y", "::", "z"});
  CHECK(texts(cpp_tokens("// a \\ \t\r\n still\nb")) == list{"b"});
  CHECK(texts(cpp_tokens("\"a\\ \nb\" c")) == list{"\"a\\ \nb\"", "c"});
  CHECK(texts(cpp_tokens("a \\ \n# b")) == list{"a", "#", "b"});
  CHECK(texts(cpp_tokens("a / b * c")) == list{"a", "/", "b", "*", "c"});
}

TEST_CASE("directives and headers are told apart", "[task][tokens]") {
  auto all = cpp_tokens("#include <a//b>\n  # include \"c\"\nx # y < z\n");
  CHECK(texts(all)
        == list{"#", "include", "<a//b>", "#", "include", "\"c\"", "x", "#",
                "y", "<", "z"});
  CHECK(all[0].kind == token_kind::directive);
  CHECK(all[2].kind == token_kind::header);
  CHECK(all[5].kind == token_kind::header);
  CHECK(all[7].kind == token_kind::symbol);
  CHECK(all[5].line == 2);
}

TEST_CASE("Python lines keep their indentation", "[task][tokens]") {
  auto all = python_tokens("class A:  # c\n  x = f(1,\n    2)\n'''d\ne'''\n");
  CHECK(texts(all)
        == list{"", "class", "A", ":", "\n", "  ", "x", "=", "f", "(", "1", ",",
                "2", ")", "\n", "", "'''d\ne'''", "\n", ""});
}

TEST_CASE("a number is one token however it is written", "[task][tokens]") {
  for (const auto* number :
       {"1e-5", "1.E+5", ".5", "1.", "1_0.5e-1_0", "0x1e", "2.5e3", ".5e-3j"}) {
    CAPTURE(number);
    CHECK(texts(python_tokens(number)) == list{"", number});
    CHECK(texts(cpp_tokens(number)) == list{number});
  }
  CHECK(texts(python_tokens("0x1e-5+1else-2"))
        == list{"", "0x1e", "-", "5", "+", "1else", "-", "2"});
  CHECK(texts(python_tokens("x.f(1e,-1)"))
        == list{"", "x", ".", "f", "(", "1e", ",", "-", "1", ")"});
}

TEST_CASE("any bytes give tokens that cover them", "[task][tokens]") {
  CHECK(rc::check("tokens are ordered views into the text", [] {
    auto text = *nasty_text();
    for (const auto& all : {cpp_tokens(text), python_tokens(text)}) {
      const char* end = text.data();
      size_t line = 1;
      for (const auto& t : all) {
        RC_ASSERT(t.text.data() >= end);
        end = t.text.data() + t.text.size();
        RC_ASSERT(end <= text.data() + text.size());
        RC_ASSERT(t.line >= line);
        line = t.line;
        bool may_be_empty = t.kind == token_kind::indent;
        RC_ASSERT(may_be_empty || !t.text.empty());
      }
    }
  }));
}
