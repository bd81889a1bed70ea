#include "runtime/task/prototype.hpp"
#include "runtime/verify/toolchain.hpp"
#include "tests/runtime/verify/candidate_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <stop_token>
#include <string>
#include <thread>

using namespace swage;
using namespace swage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct refused {
  const char* code;
  category kind;
  const char* says;
};

const refused refusals[] = {
  {"extern \"C\" void kernel(const float* x, float* y, int64_t n) {\n"
   "  y[0] = x[0]\n}\n",
   category::compile_compiler, "line 2, column 14: expected ';'"},
  {"extern \"C\" void kernel(const float* x, float* y, int64_t n) {\n"
   "  y[0] = undeclared_name;\n}\n",
   category::compile_compiler, "line 2"},
  {"#include <no_such_header.hpp>\n"
   "extern \"C\" void kernel(const float*, float*, int64_t) {}\n",
   category::compile_missing_header, "line 1"},
  {"void elsewhere(float*);\n"
   "extern \"C\" void kernel(const float* x, float* y, int64_t n) {\n"
   "  elsewhere(y);\n}\n",
   category::compile_link, "elsewhere"},
  {"extern \"C\" void kernel(float* x, float* y, int64_t n) {}\n",
   category::compile_bad_interface, "const float* x"},
  {"extern \"C\" void kernel(const float* x, float* y) {}\n",
   category::compile_bad_interface, "int64_t na"},
  {"void kernel(const double* x, double* y, int64_t n) {}\n",
   category::compile_bad_interface, "expected a definition"},
  {"extern \"C\" int kernel(const float* x, float* y, int64_t n) {}\n",
   category::compile_bad_interface, "expected"},
  {"static void kernel(const float* x, float* y, int64_t n) {}\n",
   category::compile_bad_interface, "static"},
};

} // namespace

TEST_CASE("each refusal of the compiler is sorted", "[verify][build]") {
  for (const auto& one : refusals) {
    CAPTURE(one.code);
    auto made = shared_builder().build(one.code, vector_args());
    REQUIRE_FALSE(made);
    CAPTURE(made.error().detail);
    CHECK(std::string{to_string(made.error().kind)} == to_string(one.kind));
    CHECK_THAT(made.error().detail, ContainsSubstring(one.says));
    CHECK(made.error().detail.size() < 2000);
  }
}

TEST_CASE("no file of ours is quoted", "[verify][build]") {
  auto made = shared_builder().build(
    "#include \"/etc/passwd\"\n" + candidate_with("y[0] = 1;"), vector_args());
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().detail, !ContainsSubstring("root"));
  CHECK_FALSE(is_uncharged(made.error().kind));
}

TEST_CASE("the lean prelude makes the same code", "[verify][build]") {
  for (std::string body :
       {"y[i]=tanhf(x[i])*expf(-x[i]);", "y[i]=abs(x[i]);", "y[i]=exp(x[i]);",
        "y[i]=pow(x[i],2);", "y[i]=fmax(x[i],0)+fabs(x[i]);",
        "y[i]=x[i]<0?INFINITY:(float)M_PI;", "y[i]=isnan(x[i]);",
        "y[i]=sqrt(x[i])+floor(x[i])+round(x[i])+fmod(x[i],3);",
        "memcpy(y+i,x+i,sizeof(float));", "y[i]=hypot(x[i],1)+cbrt(x[i]);",
        "float t[4]={0};t[i%4]=x[i];y[i]=t[0];", "y[i]=FLT_MAX+INT_MAX;",
        "void*p=malloc(4);free(p);y[i]=(int32_t)x[i];", "y[i]=min(x[i],0);",
        "vector<float>t(n);y[i]=t[0];", "y[i]=signbit(x[i]);"}) {
    auto code = "extern \"C\" void kernel(const float*x,float*y,long n){\n"
                "#pragma omp simd\nfor(long i=0;i<n;i++){"
                + body + "}\n}\n";
    CAPTURE(code);
    CHECK(toolchain::preludes(code).front() == toolchain::prelude::lean);
    auto whole_code = code + "// std\n";
    REQUIRE(toolchain::preludes(whole_code).front()
            == toolchain::prelude::plain);
    auto lean = shared_builder().build(code, vector_args());
    auto whole = shared_builder().build(whole_code, vector_args());
    REQUIRE(lean.has_value() == whole.has_value());
    if (lean) {
      CHECK(lean->bytes == whole->bytes);
    } else {
      CHECK(lean.error().kind == whole.error().kind);
      CHECK(lean.error().detail == whole.error().detail);
    }
  }
}

TEST_CASE("a build is repeated from the cache", "[verify][build]") {
  auto code = candidate_with("y[0] = 41;");
  auto first = shared_builder().build(code, vector_args());
  auto again = shared_builder().build(code, vector_args());
  REQUIRE(first);
  REQUIRE(again);
  CHECK_FALSE(first->cached);
  CHECK(again->cached);
  CHECK(again->bytes == first->bytes);
  CHECK(again->key == first->key);
  CHECK(again->cpu_s == 0);
  // Another prototype is another artifact, even of the same text.
  signature other = vector_args();
  other.inputs[0].type = dtype::float64;
  CHECK(shared_builder().key(code, other) != first->key);
  auto wrong = shared_builder().build("nonsense", vector_args());
  auto wrong_again = shared_builder().build("nonsense", vector_args());
  REQUIRE_FALSE(wrong_again);
  CHECK(wrong_again.error().detail == wrong.error().detail);
}

TEST_CASE("compiling without end is cut off", "[verify][build]") {
  // Twice as many types with each level.
  auto code = candidate_with("y[0] = f<40, 0>::value;",
                             "template <int N, long K> struct f {\n"
                             "  enum : long { value = f<N - 1, 2 * K>::value\n"
                             "    + f<N - 1, 2 * K + 1>::value };\n};\n"
                             "template <long K> struct f<0, K> {\n"
                             "  enum : long { value = K };\n};");
  build_limits limits;
  limits.timeout_s = 0.5;
  auto made = shared_builder().build(code, vector_args(), limits);
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == category::compile_timeout);
  limits.timeout_s = 30;
  limits.memory_bytes = uint64_t{256} << 20;
  made = shared_builder().build(code, vector_args(), limits);
  REQUIRE_FALSE(made);
  CAPTURE(made.error().detail);
  CHECK(made.error().kind == category::compile_compiler);
  CHECK_THAT(made.error().detail, ContainsSubstring("memory"));
}

TEST_CASE("a stopped build charges nobody", "[verify][build]") {
  std::stop_source stop;
  stop.request_stop();
  build_limits limits;
  limits.stop = stop.get_token();
  auto made = shared_builder().build(candidate_with("y[0] = 42;"),
                                     vector_args(), limits);
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == category::infra_worker);
}

TEST_CASE("macros of a candidate spare the wrapper", "[verify][build]") {
  CHECK(shared_builder().build(
    "#define float double\n#define sizes nothing\n#define static_cast(x) x\n"
    "#undef float\n"
      + candidate_with("y[0] = 1;"),
    vector_args()));
}

TEST_CASE("intrinsics and the vector library work", "[verify][build]") {
  CHECK(shared_builder().build(candidate_with(R"(
    for (int64_t i = 0; i < n; ++i)
      y[i] = expf(x[i]) + tanhf(x[i]);
  )"),
                               vector_args()));
#if defined(__x86_64__)
  CHECK(shared_builder().build(
    candidate_with("_mm_storeu_ps(y, _mm_add_ps(_mm_loadu_ps(x), a));",
                   "static const __m128 a{1, 2, 3, 4};"),
    vector_args()));
  // Some have names that say nothing of it.
  for (std::string value :
       {"_bswap(7)", "std::abs(x[0]) + _rotl(7, 3)", "__rdtsc()"}) {
    CAPTURE(value);
    CHECK(shared_builder().build(candidate_with("y[0] = " + value + ";"),
                                 vector_args()));
  }
#endif
}

TEST_CASE("two threads may build at once", "[verify][build]") {
  shared_builder(); // Made by one thread.
  auto code = candidate_with("y[0] = 43;");
  tl::expected<artifact, rejection> one, two;
  std::thread other{[&] { one = shared_builder().build(code, vector_args()); }};
  two = shared_builder().build(code, vector_args());
  other.join();
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->key == two->key);
}
