#include "runtime/verify/screen.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <rapidcheck.h>

#include <string>

using namespace swage;

namespace {

std::string verdict_on(std::string_view code) {
  auto found = screen(code);
  return found ? to_string(found->kind) : "passed";
}

constexpr auto tampering = "cheating:tampering";

} // namespace

TEST_CASE("what cannot be meant well is refused", "[verify][screen]") {
  for (const auto* code : {
         "void f() { __asm__ volatile(\"syscall\"); }",
         "void f() { asm(\"int $0x80\"); }",
         "void f() { asm(\"nop; sys\" \"enter\"); }",
         "asm(\".incbin \\\"/etc/passwd\\\"\");",
         "asm(\".inc\" \"bin /etc/passwd\");",
         "asm(\"\\x2eincbin /etc/passwd\");",
         "asm(\"nop\\n\\t.include /etc/passwd\");",
         "asm(\"nop\" TEXT);",
         "asm(R\"(nop)\");",
         "#define A asm\n",
         "void f() { a\\\nsm(\"syscall\"); }",
         "void f() { a\\ \t\nsm(\"syscall\"); }",
         "void f() { a\\\r\n\\\nsm(\"syscall\"); }",
         "int x = sys\\\ntem(\"ls\");",
         "int x = sy\\\ns\\\ntem(\"ls\");",
         "extern \"C\" void swage_\\\ncall(void**, const int64_t*) {}",
         "void f() { s = \"a\\ \n\"; asm(\"syscall\"); \"x\"; }",
         "void f() { s = \"a\\\r\n\"; asm(\"syscall\"); \"x\"; }",
         "// x \\ \n R\"(\nvoid f() { asm(\"syscall\"); }\n//)\"\n",
         "/\\\n/ R\"(\nvoid f() { asm(\"syscall\"); }\n//)\"\n",
         "/\\\n* R\"( */ void f() { asm(\"syscall\"); }\n//)\"\n",
         "s = R\\\n\"(\"x)\"; void f() { asm(\"syscall\"); } u = \"\";\n",
         "%\\\n:include \"/etc/passwd\"\n",
         "#lin\\\ne 1 \"prototype.hpp\"\n",
         "#inclu\\\nde \"/etc/passwd\"\n",
         "void f() { asm(\"SYSCALL\"); }",
         "void f() { asm(\"SysEnter\"); }",
         "void f() { asm(\"INT $0x80\"); }",
         "void f() { asm(\"INT3\"); asm(\"int1\"); }",
         "asm(\".INCBIN \\\"/etc/passwd\\\"\");",
         "asm(\".Inc\" \"Bin /etc/passwd\");",
         "asm(\"here:.INCBIN /etc/passwd\");",
         "asm(\"1:\\t.Byte 15, 5\");",
         "void f() { asm(\"lock; SYSCALL\"); }",
         "void f() { asm(\"sysretl\"); }",
         "void f() { asm(\"call \\\"swage_call\\\"\"); }",
         "void f() { asm(\"call swage_call@PLT\"); }",
         "void f() { asm(\"call fork@plt\"); }",
         "void f() { asm(\"movabs $fork, %rax; call *%rax\"); }",
         "void f() { asm(\"to = fork; call to\"); }",
         "void f() { asm(\"in/**/t $0x80\"); }",
         "void f() { asm(\"in{}t $0x80\" ::); }",
         "void f() { asm(\"{in}{t} $0x80\" ::); }",
         "void f() { asm(\"in{}/**/{}t $0x80\" ::); }",
         "void f() { asm(\"{s|x}{y|x}scall\" ::); }",
         "void f() { asm(\"in%+t $0x80\" ::); }",
         "void f() { asm(\"in%;t $0x80\" ::); }",
         "void f() { asm(\"nop %\" ::); }",
         "void f() { asm(u8\"nop\"); }",
         "void f() { asm(L\"nop\"); }",
         "void f() { asm(\"sys\\\ncall\"); }",
         "void f() { asm(\"\\163yscall\"); }",
         "int run(const char*) asm(\"system\");",
         "int x = system(\"ls\");",
         "int x = std::system(\"ls\");",
         "int x = ::fork();",
         "void f() { execvp(a, b); }",
         "auto h = dlopen(0, 1);",
         "long r = syscall(39);",
         "int s = socket(2, 1, 0);",
         "auto* f = fopen(\"x\", \"w\");",
         "#include \"/etc/passwd\"\n",
         "#include <../secret>\n",
         "#include </usr/include/stdio.h>\n",
         "#define P \"/etc/passwd\"\n#include P\n",
         "#line 1 \"prototype.hpp\"\n",
         "# 7 \"elsewhere\"\n",
         "%:line 3\n",
         "#pragma GCC dependency \"/etc/passwd\"\n",
         "__attribute__((constructor)) void early() {}",
         "[[gnu::destructor]] void late() {}",
         "extern \"C\" void swage_call(void**, const int64_t*) {}",
       }) {
    CAPTURE(code);
    CHECK(verdict_on(code) == tampering);
  }
  CHECK(verdict_on("#define kernel other\n") == "compile_error:bad_interface");
  CHECK(verdict_on("void f() {}\n}\nnamespace evil {")
        == "compile_error:compiler");
  CHECK(screen("int a;\n}\n")->detail == "line 2: '}' closes nothing");
}

TEST_CASE("what only looks like it passes", "[verify][screen]") {
  for (const auto* code : {
         "void f() { asm volatile(\"\" ::: \"memory\"); }",
         "void f() { asm(\"nop\"); }",
         "void f() { __asm__ __volatile__(\"vaddps %1, %2, %0\\n\\t\" : "
         "\"=x\"(a) : \"x\"(b), \"x\"(c)); }",
         "void f() { asm(\"1: ADDL $4, %0\\n\\tJNZ 1b\" : \"+r\"(a)); }",
         "void f() { asm(\"vaddps %1, %1, %0%{%2%}%{z%}\" : \"=v\"(a) : "
         "\"v\"(b), \"Yk\"(c)); }",
         "void f() { asm(\"kmovw %eax, %k1; vaddps %zmm0, %zmm1, "
         "%zmm2{%k1}{z}\"); }",
         "void f() { asm(\"mov $(1|2), %[out] /* three */ # or so\" : "
         "[out] \"=r\"(a)); }",
         "void f() { asm(\"loop%=: dec %0; jnz loop%=\" : \"+r\"(a)); }",
         "void f() { asm(\"cvtsi2sd %%eax, %%xmm0\" ::: \"xmm0\"); }",
         "void f() { asm(\"add integer(%rip), %eax\"); }",
         "#define BARRIER asm volatile(\"\" : : : \"memory\")\n",
         "// asm(\"nop\"); system(\"ls\"); #line 3\n",
         "/* fork(); } } } */",
         "const char* s = \"asm } system(fork()) swage_call\";",
         "const char* s = R\"(\n#line 9\n})\";",
         "char c = '}';",
         "grid.system(3); p->fork(); my::system(x);",
         "int system = 3; float fork = system * 2;",
         "void assemble(int asm_count);",
         "#pragma GCC optimize(\"O3\")\n#pragma omp parallel for\n",
         "#include <vector>\n#include \"immintrin.h\"\n",
         "#ifdef A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n",
         "struct constructor { constructor(int); };",
         "#define N 3\n#undef N\n",
         "%:define N 3\n",
         "#define TWICE(x) \\\n  x;             \\\n  x\n",
         "#define ONE(x) x\\\n  + x\\\n\n",
         "int a; // of x\\\ny\n",
         "// asm(\"syscall\") \\ \n asm(\"syscall\")\nint a;\n",
         "#define B(x) x\\\n.y;\\\nint z;\n",
         "",
       }) {
    CAPTURE(code);
    CHECK(verdict_on(code) == "passed");
  }
}

TEST_CASE("no bytes confuse the screen", "[verify][screen]") {
  CHECK(rc::check("a comment never changes the verdict", [] {
    auto piece = rc::gen::element<std::string>(
      "asm", "system", "(", ")", "{", "}", "#", "line", "\n", "include", "<",
      ">", "\"", "constructor", "::", ".", " ", "define", "kernel", "'");
    auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
    std::string text, inside = "/*";
    for (const auto& one : pieces) {
      text += one;
      inside += one;
    }
    screen(text);
    RC_ASSERT(!screen(inside + "*/"));
  }));
}
