#include "runtime/task/compose.hpp"
#include "runtime/task/sizes.hpp"

#include <array>

namespace swage {

namespace {

constexpr std::array activations = {
  "relu",    "gelu",      "silu", "tanh",  "elu",  "softplus",
  "sigmoid", "hardswish", "mish", "relu6", "selu", "leaky_relu"};
constexpr std::array norms = {"layer_norm", "rms_norm", "l2norm"};
constexpr std::array softmaxes = {"softmax", "log_softmax"};

/// A block over rows of `width` elements.
class block {
public:
  explicit block(draw& random) : out_{random, 3} {
    auto shape = draw_product_shape(random, 2);
    rows_ = shape.left[0];
    width_ = shape.left[1];
    hidden_ = shape.right[1];
  }

  int input() { return out_.input({rows_, width_}); }

  int linear(int x, int64_t features, const char* name = "linear") {
    auto v = out_.apply(name, x);
    out_.last().count = features;
    return v;
  }

  int activate(int x) { return out_.apply(out_.random().pick(activations), x); }

  int norm(int x) { return along_rows(out_.random().pick(norms), x); }

  int along_rows(const char* name, int x) {
    auto v = out_.apply(name, x);
    out_.last().axis = 1;
    return v;
  }

  program feed_forward(bool residual) {
    auto x = input();
    auto v = activate(linear(x, hidden_));
    v = linear(v, width_);
    if (residual)
      out_.apply("add", v, x);
    return out_.current();
  }

  program gated() {
    auto x = input();
    auto gate = activate(linear(x, hidden_, "project"));
    auto v = linear(x, hidden_, "project");
    out_.apply("mul", v, gate);
    return out_.current();
  }

  program norm_first() {
    auto x = input();
    auto v = activate(linear(norm(x), width_));
    out_.apply("add", v, x);
    return out_.current();
  }

  program norm_last() {
    auto x = input();
    auto v = activate(linear(x, width_));
    v = out_.apply("add", v, x);
    norm(v);
    return out_.current();
  }

  program residual_norm() {
    auto x = input();
    auto y = input();
    auto v = out_.apply("add", x, y);
    v = activate(norm(v));
    out_.apply(out_.random().chance(0.5) ? "mul" : "add", v, x);
    return out_.current();
  }

  program classifier() {
    auto x = input();
    auto v = out_.random().chance(0.5) ? norm(x) : x;
    v = linear(v, hidden_);
    along_rows(out_.random().pick(softmaxes), v);
    return out_.current();
  }

  program attention() {
    // Queries of bounded length: products of two unbounded operands would make
    // the softmax a matter of rounding.
    rows_ = 64 + 8 * out_.random().between(0, 12);
    auto q = input(), k = input(), v = input();
    auto scores = along_rows("l2norm", q);
    scores = out_.apply("matmul_t", scores, k);
    if (out_.random().chance(0.5))
      scores = out_.apply("mul_c", scores);
    scores = along_rows("softmax", scores);
    out_.apply("matmul", scores, v);
    return out_.current();
  }

  program similarity() {
    rows_ = 96 + 8 * out_.random().between(0, 12);
    auto x = input(), y = input();
    auto v = along_rows("l2norm", x);
    v = out_.apply("matmul_t", v, y);
    activate(v);
    return out_.current();
  }

private:
  composer out_;
  int64_t rows_ = 0, width_ = 0, hidden_ = 0;
};

} // namespace

program draw_block(draw& random) {
  auto kind = random.between(0, 8);
  block made{random};
  switch (kind) {
  case 0:
  case 1:
    return made.feed_forward(kind == 1);
  case 2:
    return made.gated();
  case 3:
    return made.norm_first();
  case 4:
    return made.norm_last();
  case 5:
    return made.residual_norm();
  case 6:
    return made.classifier();
  case 7:
    return made.attention();
  default:
    return made.similarity();
  }
}

} // namespace swage
