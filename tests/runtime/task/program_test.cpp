#include "runtime/task/program.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>
#include <string>

using namespace swage;

namespace {

program parsed(const std::string& text) {
  auto read = parse_program(text);
  if (!read)
    FAIL(read.error().message);
  return *read;
}

std::string refusal(const std::string& text) {
  auto read = parse_program(text);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ec::invalid_argument);
  return read.error().message;
}

} // namespace

TEST_CASE("the operator table has every family and no name twice",
          "[task][operators]") {
  CHECK(operators().size() >= 40);
  std::set<std::string> names;
  std::set<family> kinds;
  for (auto& row : operators()) {
    CHECK(names.insert(row.name).second);
    CHECK(find_operator(row.name) == &row);
    kinds.insert(row.kind);
  }
  CHECK(kinds.size() == 10);
  CHECK(find_operator("no_such_operator") == nullptr);
}

TEST_CASE("constants of the table are multiples of a tenth",
          "[task][operators]") {
  for (auto& row : operators())
    for (auto& range : row.constants)
      if (range.used()) {
        CAPTURE(row.name);
        CHECK(range.low > 0);
        CHECK(range.high > range.low);
      }
}

TEST_CASE("a program's text is read back as it was", "[task][program]") {
  for (std::string text :
       {"1 64x32:c;relu 0",
        "2 64x32:t 64x32:c;add 0 a1;leaky_relu 2 c0.3;sum 3 d1 k",
        "2 2x16x8:c;permute 0 p201",
        "3 50x16:c;linear 0 g24;gelu 1;project 2 g8"})
    CHECK(serialise(parsed(text)) == text);
}

TEST_CASE("shapes follow from the operators' attributes", "[task][program]") {
  auto shape = [](const std::string& text) {
    return infer(parsed(text))->back().sizes;
  };
  using sizes = std::vector<int64_t>;
  CHECK(shape("1 8x4:c;sum 0") == sizes{4});
  CHECK(shape("1 8x4:c;sum 0 d1 k") == sizes{8, 1});
  CHECK(shape("1 2x8x4:c;permute 0 p201") == sizes{4, 2, 8});
  CHECK(shape("1 8x4:c;linear 0 g6") == sizes{8, 6});
  CHECK(shape("1 8x4:c 4x6:t;matmul 0 a1") == sizes{8, 6});
  CHECK(shape("1 2x8x4:c 2x6x4:c;matmul_t 0 a1") == sizes{2, 8, 6});
  CHECK(shape("1 8x4:c 8x4:c;mse 0 a1").empty());
}

TEST_CASE("a signature lists parameters and strides in order",
          "[task][program]") {
  auto args = signature_of(parsed("2 8x4:t;layer_norm 0 d1;linear 1 g6"));
  REQUIRE(args);
  CHECK(args->inputs[0].strides == std::vector<int64_t>{1, 8});
  REQUIRE(args->state.size() == 4);
  CHECK(args->state[0].shape == std::vector<int64_t>{4});
  CHECK(args->state[2].shape == std::vector<int64_t>{6, 4});
  CHECK(args->state[3].name == "w3");
  CHECK(args->outputs[0].shape == std::vector<int64_t>{8, 6});
}

TEST_CASE("canonical expressions leave out sizes and constants",
          "[task][program]") {
  auto expression = [](const std::string& text) {
    return canonical(parsed(text));
  };
  CHECK(expression("1 8x4:c;leaky_relu 0 c0.1")
        == expression("1 64x100:c;leaky_relu 0 c0.3"));
  CHECK(expression("1 8x4:c;sum 0") != expression("1 8x4:c;sum 0 d1"));
  CHECK(expression("1 8x4:c;sum 0") != expression("1 8x4:c;sum 0 k"));
  CHECK(expression("1 8x4:c;relu 0") != expression("1 8x4:t;relu 0"));
  CHECK(expression("1 8x4:c;relu 0") != expression("1 8:c;relu 0"));
}

TEST_CASE("a program that computes less than it says is degenerate",
          "[task][program]") {
  for (auto text :
       {"2 64:c;add_c 0 c0.5;sub 1 a0", "2 8x4:c;bias 0;sub 1 a0",
        "2 64:c;neg 0;add 1 a0;abs 2", "2 64:c;neg 0;lerp 1 a0 c0.5;sin 2",
        "2 64:c;neg 0;add_c 1 c0.5;add 2 a0", "2 64:c;sub_c 0 c1;sqdiff 1 a0",
        "2 64:c;rsub_c 0 c0.4;axpy 1 a0 c1",
        "2 64:c 64:c;sub 0 a1;add 2 a1;gelu 3", "1 64:c;mul_c 0 c1",
        "2 64:c 64:c;mul_c 0 c2;axpy 2 a1 c1;sub 3 a1",
        "2 64:c;add_c 0 c0.5;sin 1;sub_c 1 c0.5", "2 64:c 64:c;relu 0;tanh 2",
        "2 64:c;relu 0;maximum 1 a0", "2 64:c;add_c 0 c0.5;maximum 1 a0",
        "2 64:c 64:c;where 0 a1 c0.7;relu6 2;maximum 3 a0",
        "2 64:c;sqrt 0;square 1", "2 64:c;sign 0;log1p 1",
        "2 8x4:c;sign 0;mul_c 1 c0.4;transpose 2 p10;square 3",
        "2 64:c;square 0;sqrt 1"}) {
    CAPTURE(text);
    CHECK(is_degenerate(parsed(text)));
  }
  for (auto text :
       {"1 64:c;relu 0", "1 64:c;mul_c 0 c1.1", "2 64:c;tanh 0;sub 1 a0",
        "2 64:c;mul_c 0 c0.5;sub 1 a0", "2 64:c;add_c 0 c0.5;mul 1 a0",
        "2 64:c 64:c;sub 0 a1;add 2 a0", "2 64:c 64:c;relu 0;maximum 2 a1",
        "2 8x4:c;scale 0;sub 1 a0", "1 64:c 64:c;mse 0 a1",
        "3 50x16:c;linear 0 g16;gelu 1;add 2 a0"}) {
    CAPTURE(text);
    CHECK_FALSE(is_degenerate(parsed(text)));
  }
}

TEST_CASE("a text that is no program is refused by name", "[task][program]") {
  CHECK(refusal("").find("level") != std::string::npos);
  CHECK(refusal("1 8x4:q;relu 0").find("8x4:q") != std::string::npos);
  CHECK(refusal("1 8x4:c;no_such 0").find("no_such") != std::string::npos);
  CHECK(refusal("1 8x4:c;relu 7").find("relu") != std::string::npos);
  CHECK(refusal("1 8x4:c;sum 0 d5").find("axis 5") != std::string::npos);
  CHECK(refusal("1 8x4:c;add 0").find("second operand") != std::string::npos);
  CHECK(refusal("1 8x4:c 4x8:c;add 0 a1").find("differ") != std::string::npos);
  CHECK(refusal("1 8x4:c;leaky_relu 0").find("constants") != std::string::npos);
  CHECK(refusal("1 0x4:c;relu 0").find("positive") != std::string::npos);
  CHECK(refusal("1 8x4:c").find("operator") != std::string::npos);
  CHECK(refusal("1 2x9x4:c;group_norm 0 g4").find("groups")
        != std::string::npos);
  CHECK(refusal("1 2x9x4:c;permute 0 p001").find("order") != std::string::npos);
}
