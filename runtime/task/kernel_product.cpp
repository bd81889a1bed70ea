#include "runtime/task/kernel_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

/// A product of rows: result[i, j] = start + sum over k of left * right.
struct product_terms {
  std::string rows, columns, inner; ///< Limits of i, j and k.
  std::string start;                ///< "0" or a bias element.
  std::string left;                 ///< Element (i, k).
  std::string right;                ///< Element (k, j).
  loop_place at;                    ///< Of the result.
};

product_terms kernel_writer::terms_of(const kernel_stage& stage) const {
  auto& node = plan_.what.node(stage.core);
  auto& left = plan_.shape(stage.source).names;
  product_terms terms;
  terms.rows = times({left.begin(), left.end() - 1});
  terms.columns = plan_.shape(stage.core).names.back();
  terms.inner = left.back();
  terms.start = "0";
  loop_place at;
  at.flat = fmt::format("i*{}+k", terms.inner);
  at.in_row = "k";
  terms.left = load(stage.source, at);
  terms.at.flat = fmt::format("i*{}+j", terms.columns);
  terms.at.in_row = terms.at.last = "j";
  if (node.row->kind == family::linear) {
    lines owned;
    for (auto& state : plan_.states)
      if (state.value == stage.core)
        owned.push_back(state.name);
    terms.right = fmt::format("{}[j*{}+k]", owned[0], terms.inner);
    if (owned.size() > 1)
      terms.start = owned[1] + "[j]";
    return terms;
  }
  bool turned = node.row->has(transposed_other);
  auto batch = left.size() == 3 ? fmt::format("i/{}*", left[1]) : "";
  loop_place other;
  other.row = "k";
  other.column = "j";
  auto inner = turned ? terms.columns : terms.inner;
  auto row = turned ? "j" : "k";
  other.flat = batch.empty() ? fmt::format("{}*{}+{}", row,
                                           turned ? terms.inner : terms.columns,
                                           turned ? "k" : "j")
                             : fmt::format("({}{}+{})*{}+{}", batch, inner, row,
                                           turned ? terms.inner : terms.columns,
                                           turned ? "k" : "j");
  other.in_row = other.flat;
  terms.right = load(node.other, other);
  return terms;
}

void kernel_writer::product(const kernel_stage& stage) {
  auto terms = terms_of(stage);
  if (form_.blocked)
    return product_by_rows(stage, terms);
  auto target = plan_.buffer(stage.result);
  bool row_buffer = form_.by_row && target != "y";
  if (!form_.by_row) {
    thread_pragma();
    open("i", terms.rows);
  }
  open("j", terms.columns);
  line("float v=" + terms.start + ";");
  simd_pragma("reduction(+:v)");
  loop("k", terms.inner, {fmt::format("v+={}*{};", terms.left, terms.right)});
  for (auto node : stage.after)
    line("v=" + expression(node, terms.at) + ";");
  line(fmt::format("{}[{}]=v;", target,
                   row_buffer ? terms.at.in_row : terms.at.flat));
  close();
  if (!form_.by_row)
    close();
}

/// Adds multiples of the right operand's lines to a line of the result, so that
/// every inner loop runs over neighbours. A weight is transposed for that.
void kernel_writer::product_by_rows(const kernel_stage& stage,
                                    const product_terms& terms) {
  auto& node = plan_.what.node(stage.core);
  auto right = terms.right;
  if (node.row->kind == family::linear) {
    auto weight = right.substr(0, right.find('['));
    auto turned = "r" + weight.substr(1);
    line(fmt::format("std::vector<float>{}({}*{});", turned, terms.inner,
                     terms.columns));
    open("j", terms.columns);
    loop("k", terms.inner,
         {fmt::format("{}[k*{}+j]={};", turned, terms.columns, right)});
    close();
    right = fmt::format("{}[k*{}+j]", turned, terms.columns);
  }
  thread_pragma();
  open("i", terms.rows);
  define("float*", "p",
         address(plan_.buffer(stage.result), "i*" + terms.columns));
  loop("j", terms.columns, {"p[j]=" + terms.start + ";"});
  open("k", terms.inner);
  line("float v=" + terms.left + ";");
  loop("j", terms.columns, {fmt::format("p[j]+=v*{};", right)});
  close();
  if (!stage.after.empty())
    loop("j", terms.columns, body("p[j]", stage.after, terms.at, "p[j]"));
  close();
}

} // namespace swage
