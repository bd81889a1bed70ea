#include "runtime/verify/diagnostics.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

#include <string>

using namespace swage;

namespace {

const std::string prototype = "extern \"C\" void kernel(float* y);";

rejection diagnosed(std::string errors, int code = 1) {
  compile_outcome seen;
  seen.code = code;
  seen.errors = std::move(errors);
  return diagnose(seen, prototype);
}

} // namespace

TEST_CASE("own lines come first, others stay out", "[verify][diagnostics]") {
  auto seen = diagnosed("/etc/passwd:1:5: error: expected unqualified-id\n"
                        "/usr/include/c++/12/vector:9:1: error: no match\n"
                        "kernel.cpp:3:7: error: expected ';'\n"
                        "kernel.cpp:3:9: note: here\n"
                        "elsewhere.cpp:1:1: error: secret\n");
  CHECK(seen.kind == category::compile_compiler);
  CHECK(seen.detail == "line 3, column 7: expected ';'");
  CHECK(diagnosed("/usr/include/c++/12/vector:9:1: error: no match\n").detail
        == "in a header: no match");
  CHECK(diagnosed("/etc/shadow:1:5: error: root\n").detail.find("root")
        == std::string::npos);
}

TEST_CASE("a wrong interface is told in one line", "[verify][diagnostics]") {
  auto seen = diagnosed("kernel.cpp:2:17: error: conflicting declaration of C "
                        "function 'void kernel(float*, int64_t)'\n"
                        "prototype.hpp:1:17: note: previous declaration\n");
  CHECK(seen.kind == category::compile_bad_interface);
  CHECK(seen.detail
        == "expected " + prototype
             + " found in line 2, column 17: 'void kernel(float*, int64_t)'");
  CHECK(diagnosed("kernel.cpp:1:13: error: 'void kernel(float*)' was declared "
                  "'extern' and later 'static'\n")
          .detail
        == "expected " + prototype
             + " found in line 1, column 13: 'void kernel(float*)' was "
               "declared 'extern' and later 'static'");
  CHECK(diagnosed("mold: error: undefined symbol: kernel\n").detail
        == "expected a definition of " + prototype
             + " found none with these arguments outside of a namespace");
}

TEST_CASE("linkers are understood in their dialects", "[verify][diagnostics]") {
  for (const auto* text :
       {"/usr/bin/ld: /tmp/a.o: in function `kernel':\n<stdin>:(.text+0x4): "
        "undefined reference to `f(int)'\ncollect2: error: ld returned 1\n",
        "mold: error: undefined symbol: f(int)\n>>> referenced by <stdin>\n"}) {
    auto seen = diagnosed(text);
    CHECK(seen.kind == category::compile_link);
    CHECK(seen.detail == "undefined: f(int)");
  }
  CHECK(diagnosed("mold: error: undefined symbol: kernel\n").kind
        == category::compile_bad_interface);
}

TEST_CASE("the compiler's own ends are told apart", "[verify][diagnostics]") {
  compile_outcome late;
  late.code = 137;
  late.timed_out = true;
  CHECK(diagnose(late, prototype).kind == category::compile_timeout);
  CHECK(diagnosed("x", compile_could_not_run).kind == category::infra_worker);
  CHECK(diagnosed("g++: fatal error: Killed signal terminated program "
                  "cc1plus\ncompilation terminated.\n")
          .kind
        == category::infra_worker);
  CHECK(diagnosed("g++: fatal error: CPU time limit exceeded signal "
                  "terminated program cc1plus\n")
          .kind
        == category::compile_timeout);
  CHECK(diagnosed("cc1plus: out of memory allocating 65536 bytes\n").kind
        == category::compile_compiler);
}

TEST_CASE("any output of a compiler is bounded", "[verify][diagnostics]") {
  CHECK(rc::check("and never crashes us", [] {
    auto piece = rc::gen::element<std::string>(
      "kernel.cpp", ":", "12", "99999999999999999999",
      " error: ", " fatal error: ", "\n", "undefined reference to `", "'",
      "/usr/", "x");
    auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
    std::string text;
    for (const auto& one : pieces)
      text += one;
    RC_ASSERT(diagnosed(text).detail.size() < 4000);
  }));
}
