#include "runtime/task/program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace swage {

namespace {

/// A value as a sum: weights of other values and, below zero, of parameters.
/// A value that is no sum is itself with weight one.
struct linear_form {
  std::map<int, double> of;
  double constant = 0;

  /// Whether no input is in it.
  bool fixed() const { return of.empty() || of.rbegin()->first < 0; }
};

linear_form sum(const linear_form& a, double weight_a, const linear_form& b,
                double weight_b) {
  linear_form out;
  for (auto& [form, weight] : {std::pair{&a, weight_a}, {&b, weight_b}}) {
    for (auto& [value, share] : form->of)
      out.of[value] += weight * share;
    out.constant += weight * form->constant;
  }
  std::erase_if(out.of, [](auto& x) { return std::abs(x.second) < 1e-9; });
  return out;
}

bool equal(const linear_form& a, const linear_form& b) {
  auto rest = sum(a, 1, b, -1);
  return rest.of.empty() && std::abs(rest.constant) < 1e-9;
}

linear_form form_of(int value, const program_node& node, const linear_form& v,
                    const linear_form& a) {
  auto is = [&](std::string_view name) { return name == node.row->name; };
  auto c = node.constants.empty() ? 0 : node.constants[0];
  if (is("neg"))
    return sum(v, -1, {}, 0);
  if (is("add_c") || is("sub_c"))
    return sum(v, 1, {{}, c}, is("add_c") ? 1 : -1);
  if (is("rsub_c"))
    return sum(v, -1, {{}, c}, 1);
  if (is("mul_c") || is("div_c"))
    return sum(v, is("mul_c") ? c : 1 / c, {}, 0);
  if (is("add") || is("sub"))
    return sum(v, 1, a, is("add") ? 1 : -1);
  if (is("lerp"))
    return sum(v, 1 - c, a, c);
  if (is("axpy"))
    return sum(v, 1, a, c);
  if (is("bias") || is("channel_bias"))
    return sum(v, 1, {{{-1 - value, 1}}, 0}, 1);
  return {{{value, 1}}, 0};
}

/// The same for v and -v.
constexpr std::array<std::string_view, 8> even = {
  "square", "sqrt", "abs", "rsqrt", "reciprocal", "log", "log1p", "cos"};

bool comes_from_sign(const program& what, int value) {
  while (!what.is_input(value)) {
    auto& row = *what.node(value).row;
    if (row.kind != family::unary && row.kind != family::layout)
      return false;
    if (std::string_view{row.name} == "sign")
      return true;
    value = what.node(value).operand;
  }
  return false;
}

/// Whether the node takes back what the node before it did, or leaves of a sign
/// a constant.
bool undoes(const program& what, const program_node& node) {
  if (what.is_input(node.operand))
    return false;
  std::string_view name = node.row->name;
  std::string_view before = what.node(node.operand).row->name;
  return (name == "square" && before == "sqrt")
         || (name == "sqrt" && before == "square")
         || (std::ranges::count(even, name) > 0
             && comes_from_sign(what, node.operand));
}

} // namespace

bool is_degenerate(const program& what) {
  std::vector<linear_form> forms;
  std::vector<uint64_t> inputs; // That each value depends on, as bits.
  auto at = [](auto& list, int value) -> auto& {
    return list[static_cast<size_t>(value)];
  };
  for (int value = 0; value < static_cast<int>(what.num_values()); ++value) {
    if (what.is_input(value)) {
      forms.push_back({{{value, 1}}, 0});
      inputs.push_back(uint64_t{1} << value);
      continue;
    }
    auto& node = what.node(value);
    auto other = node.other < 0 ? linear_form{} : at(forms, node.other);
    auto form = form_of(value, node, at(forms, node.operand), other);
    std::string_view name = node.row->name;
    bool distance = node.row->kind == family::loss || name == "sqdiff";
    // Of a value and what it was made of, mostly the same one is larger.
    bool chooses = name == "maximum" || name == "minimum";
    if (form.fixed() || undoes(what, node)
        || (chooses && (at(inputs, node.operand) & at(inputs, node.other)))
        || (distance && sum(at(forms, node.operand), 1, other, -1).fixed())
        || std::ranges::any_of(forms, [&](auto& x) { return equal(x, form); }))
      return true;
    uint64_t from = 0;
    for (auto& [atom, weight] : form.of)
      if (atom >= 0 && atom != value)
        from |= at(inputs, atom);
    if (form.of.contains(value))
      from = at(inputs, node.operand)
             | (node.other < 0 ? 0 : at(inputs, node.other));
    inputs.push_back(from);
    forms.push_back(std::move(form));
  }
  return inputs.back() != (uint64_t{1} << what.inputs.size()) - 1;
}

} // namespace swage
