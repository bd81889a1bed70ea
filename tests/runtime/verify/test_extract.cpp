#include "runtime/verify/extract.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <rapidcheck.h>

#include <string>

using namespace swage;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string good = "extern \"C\" void kernel(const float* x) { f(x); }\n";

std::string extracted(const std::string& response, form as = form::function) {
  auto code = extract(response, as);
  return code ? *code : "no code: " + code.error().detail;
}

std::string why_not(const std::string& response, form as = form::function) {
  auto code = extract(response, as);
  REQUIRE_FALSE(code);
  CHECK(code.error().kind == category::compile_no_code);
  return code.error().detail;
}

std::string fenced(const std::string& code) {
  return "```cpp\n" + code + "```\n";
}

} // namespace

TEST_CASE("the last block with the kernel is taken", "[verify][extract]") {
  auto other = "void helper() {}\n";
  CHECK(extracted("text\n" + fenced(good) + "more") == good);
  CHECK(extracted(fenced("int old;\n" + good) + fenced(good)) == good);
  CHECK(extracted(fenced(good) + fenced(other)) == good);
  CHECK(extracted("~~~~\n```\n" + good + "~~~~\n") == "```\n" + good);
  CHECK(extracted("  ```c++ title=a\r\n" + good + "  ```\r\n") == good);
  CHECK(extracted("```\n" + good) == good); // Cut off behind it.
  CHECK(extracted(good) == good);
}

TEST_CASE("reasoning is not the answer", "[verify][extract]") {
  auto draft = fenced("int draft;\n" + good);
  CHECK(extracted("<think>" + draft + "</think>" + fenced(good)) == good);
  CHECK(extracted(draft + "</think>\n" + good) == "\n" + good);
  CHECK_THAT(why_not("<think>" + draft), ContainsSubstring("reasoning"));
  CHECK_THAT(why_not("<think>" + draft + "</think> \n"),
             ContainsSubstring("reasoning"));
}

TEST_CASE("only a definition outside of text counts", "[verify][extract]") {
  CHECK_THAT(why_not("extern \"C\" void kernel(const float* x);"),
             ContainsSubstring("no body"));
  CHECK_THAT(why_not("// void kernel(int n) {}\n"),
             ContainsSubstring("nothing in the text defines 'kernel'"));
  CHECK_THAT(why_not(fenced("const char* s = \"kernel() {}\";\n")),
             ContainsSubstring("does not"));
  why_not("a.kernel(x) {}");
  why_not("#define kernel(x) {x}\n");
  why_not("void my_kernel(int n) {}");
  CHECK(extract("void f() { kernel(1); }\n" + good, form::function));
  CHECK(extract("auto kernel(int n) noexcept -> void { }", form::function));
  CHECK(extract("void kernel(int (*f)(int), int n)\n{\n}", form::function));
  CHECK_THAT(why_not(""), ContainsSubstring("empty"));
}

TEST_CASE("what is defined in its place is named", "[verify][extract]") {
  CHECK(why_not("void kernal(int n) {\n  if (n) {}\n}\n")
        == "nothing in the text defines 'kernel'; the nearest name that it "
           "defines is 'kernal'");
  CHECK(why_not(fenced("int square(int n);\nint half(int n) { return n / 2; }\n"
                       "void kernel_v2(int n) noexcept { half(n); }\n"))
        == "the code block does not define 'kernel'; the nearest name that it "
           "defines is 'kernel_v2'");
  CHECK(why_not("void a() {}\nvoid softmax() {}\nvoid c() {}\nvoid d() {}\n")
        == "nothing in the text defines 'kernel'; it defines 'a', 'softmax', "
           "'c'");
  CHECK(why_not("for (;;) {}\nx.kernal() {}\n#define kernal(x) {x}\n")
        == "nothing in the text defines 'kernel'");
}

TEST_CASE("module form wants its class", "[verify][extract]") {
  std::string
    module = "import torch\nclass ModelNew(torch.nn.Module):\n  x = 1\n";
  CHECK(extracted(fenced(module), form::module) == module);
  CHECK(extract("ModelNew = make()\n", form::module));
  why_not("# class ModelNew\n", form::module);
  why_not("'''\nclass ModelNew:\n'''\n", form::module);
  why_not("f(\nclass ModelNew)\n", form::module);
  why_not(fenced(good), form::module);
}

TEST_CASE("code that is too long is refused", "[verify][extract]") {
  CHECK(extract(std::string(2 * max_code_bytes, ' ') + fenced(good),
                form::function));
  CHECK_THAT(why_not(good + std::string(max_code_bytes, ' ')),
             ContainsSubstring("at most"));
}

TEST_CASE("any response is extracted from or refused", "[verify][extract]") {
  CHECK(rc::check("what comes out is a piece that defines it", [] {
    auto piece = rc::gen::element<std::string>(
      "```", "~~~", "\n", "</think>", "<think>", "kernel", "(", ")", "{", "}",
      ";", "\"", "/*", "*/", "//", "class ModelNew", "R\"(", ")\"", " ", "\\");
    auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
    std::string text;
    for (const auto& one : pieces)
      text += one;
    for (auto as : {form::function, form::module}) {
      auto code = extract(text, as);
      if (code) {
        RC_ASSERT(text.find(*code) != std::string::npos);
        RC_ASSERT(defines_entry_point(*code, as));
      } else {
        RC_ASSERT(!code.error().detail.empty());
      }
    }
  }));
}

TEST_CASE("a long response takes linear work", "[verify][extract]") {
  // Quadratic work on these would outlast the test's time limit.
  for (const auto* piece : {"```\n", "kernel(", "kernel(x);", "kernal(x){}",
                            "kernal(", "/*", "R\"(",
                            "\"\n", "<think>", "(((((", "#include <"}) {
    std::string text;
    while (text.size() < (size_t{1} << 20))
      text += piece;
    CHECK_FALSE(extract(text, form::function));
    CHECK_FALSE(extract(text, form::module));
  }
}
