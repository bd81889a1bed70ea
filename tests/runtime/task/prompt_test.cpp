#include "runtime/task/prompt.hpp"

#include "runtime/task/fill.hpp"
#include "runtime/task/generate.hpp"
#include "runtime/task/prototype.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace swage;

namespace {

task made(const std::string& text) {
  auto what = make_task(*parse_program(text), "test", {});
  REQUIRE(what);
  return *what;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace

TEST_CASE("the prototype names arguments by their role", "[task][prototype]") {
  auto what = made("2 64x32:t 64x32:c;add 0 a1;affine 2");
  CHECK(prototype(what.args)
        == "extern \"C\" void kernel(const float* x, const float* x1, "
           "const float* w, const float* w1, float* y, int64_t na, int64_t nb, "
           "int64_t sa, int64_t sb, int64_t n1a, int64_t n1b);");
  CHECK(size_arguments(what.args)
        == std::vector<int64_t>{64, 32, 1, 64, 64, 32});
}

TEST_CASE("element types without a C type become integers",
          "[task][prototype]") {
  signature args;
  args.inputs = {{"mask", dtype::boolean, {4}, {}},
                 {"half", dtype::bfloat16, {4}, {}}};
  args.outputs = {{"out", dtype::int64, {}, {}}};
  CHECK(prototype(args)
        == "extern \"C\" void kernel(const uint8_t* x, const uint16_t* x1, "
           "int64_t* y, int64_t na, int64_t n1a);");
}

TEST_CASE("a view of one row is not strided", "[task][prototype]") {
  signature args;
  args.inputs = {{"x", dtype::float32, {1, 8}, {99, 1}}};
  CHECK(size_arguments(args) == std::vector<int64_t>{1, 8});
  args.inputs[0].strides = {99, 2};
  CHECK(size_arguments(args) == std::vector<int64_t>{1, 8, 99, 2});
}

TEST_CASE("a compact prompt says all that sizes do not", "[task][prompt]") {
  CHECK(render_prompt(made("2 64x32:t;scale 0;leaky_relu 1 c0.3;sum 2 d1 k"),
                      "compact")
        == "x ab strided\nscale\nleaky_relu 0.3\nsum b keep\n->\n");
  CHECK(render_prompt(made("1 2x8x4:c;permute 0 p201"), "compact")
        == "x abc\npermute cab\n->\n");
  CHECK(
    render_prompt(made("3 50x16:c;project 0 g24;silu 1;project 0 g24;mul 3 a2"),
                  "compact")
    == "x ab\nproject 24\nsilu\nproject of x 24\nmul #2\n->\n");
}

TEST_CASE("different kernels never have the same prompt", "[task][prompt]") {
  CHECK(render_prompt(made("1 64x32:c;roll 0 g2 d1"), "compact")
        != render_prompt(made("1 64x32:c;roll 0 g2"), "compact"));
  CHECK(render_prompt(made("1 64x32:c 64x32:t;mse 0 a1"), "compact")
        != render_prompt(made("1 64x32:c 64x32:c;mse 0 a1"), "compact"));
}

TEST_CASE("a foreign module's prompt shows its forward", "[task][prompt]") {
  task what;
  what.args.inputs = {{"A", dtype::float32, {4, 4}, {}}};
  what.reference = "class Model:\n    def __init__(self):\n        pass\n\n"
                   "    def forward(self, A):\n        B = A + 1\n\n"
                   "        return B\n\ndef get_inputs():\n    return []\n";
  CHECK(render_prompt(what, "compact") == "x ab\nB = A + 1\nreturn B\n->\n");
}

TEST_CASE("a full prompt holds module, prototype and rules", "[task][prompt]") {
  auto what = made("1 64x32:c;bias 0");
  auto text = render_prompt(what, "full");
  CHECK(has(text, what.reference));
  CHECK(has(text, prototype(what.args)));
  CHECK(has(text, "- w: parameter or buffer, float32, shape (32)"));
  CHECK_FALSE(has(text, "{reference}"));
  what.as = form::module;
  CHECK(has(render_prompt(what, "full"), "class ModelNew"));
}

TEST_CASE("a repair prompt names the category and the code", "[task][prompt]") {
  auto what = made("1 64x32:c;relu 0");
  auto text = render_repair_prompt(
    what, "extern int;\n", "{\"category\": \"compile_error:compiler\", ...}",
    "compact");
  CHECK(text == "x ab\nrelu\ncompile_error:compiler\nextern int;\n->\n");
  auto full = render_repair_prompt(what, "extern int;", "no {brace} is filled",
                                   "full");
  CHECK(has(full, what.reference));
  CHECK(has(full, "no {brace} is filled"));
}

TEST_CASE("the hash of the prompts is stable text", "[task][prompt]") {
  CHECK(prompt_hash().size() == 16);
  CHECK(prompt_hash() == prompt_hash());
}

TEST_CASE("filling replaces known names and nothing else", "[task][prompt]") {
  CHECK(fill("a{b}c{d}{", {{"b", "{d}"}}) == "a{d}c{d}{");
  CHECK(fill("{}", {{"", "x"}}) == "x");
}
