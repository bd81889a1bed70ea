#include "runtime/task/kernel_plan.hpp"

#include <algorithm>
#include <cctype>

namespace swage {

namespace {

std::vector<int> count_uses(const program& what) {
  std::vector<int> counts(what.num_values());
  for (auto& node : what.nodes) {
    ++counts[static_cast<size_t>(node.operand)];
    if (node.other >= 0)
      ++counts[static_cast<size_t>(node.other)];
  }
  return counts;
}

/// Whether `core` computes from elements that loops before it could feed.
bool takes_elements(family kind) {
  return kind != family::linear && kind != family::matmul;
}

/// Whether the stage reads element i of its source before writing element i.
bool in_place(const program& what, const kernel_stage& stage) {
  if (stage.core < 0)
    return true;
  auto kind = what.node(stage.core).row->kind;
  return kind == family::normalise || kind == family::scan;
}

bool joins(const program& what, const kernel_stage& stage, int value,
           const std::vector<int>& counts) {
  auto& node = what.node(value);
  if (node.operand != stage.result || what.is_input(stage.result)
      || counts[static_cast<size_t>(stage.result)] != 1)
    return false;
  if (node.row->elementwise())
    return stage.core < 0 || what.node(stage.core).row->kind != family::loss;
  return stage.core < 0 && takes_elements(node.row->kind);
}

void assign_buffers(kernel_plan& plan) {
  constexpr std::string_view temporaries = "tughre";
  auto counts = count_uses(plan.what);
  plan.buffers.resize(plan.what.num_values());
  for (size_t i = 0; i < plan.what.inputs.size(); ++i)
    plan.buffers[i] = input_name(i);
  size_t used = 0;
  for (size_t i = plan.stages.size(); i-- > 0;) {
    auto& stage = plan.stages[i];
    auto& buffer = plan.buffers[static_cast<size_t>(stage.result)];
    if (i + 1 == plan.stages.size()) {
      buffer = output_name(0);
      continue;
    }
    auto& next = plan.stages[i + 1];
    bool shared = next.source == stage.result
                  && counts[static_cast<size_t>(stage.result)] == 1
                  && in_place(plan.what, next)
                  && plan.shape(next.result).names
                       == plan.shape(stage.result).names;
    buffer = shared ? plan.buffer(next.result)
                    : std::string(1, temporaries[used++ % temporaries.size()]);
  }
}

} // namespace

bool kernel_plan::introduces(size_t stage) const {
  auto& name = buffer(stages[stage].result);
  if (name == output_name(0))
    return false;
  return std::none_of(stages.begin(), stages.begin() + static_cast<long>(stage),
                      [&](auto& x) { return buffer(x.result) == name; });
}

bool kernel_plan::strided(int value) const {
  return what.is_input(value)
         && what.inputs[static_cast<size_t>(value)].how != view::contiguous;
}

kernel_plan make_plan(const program& what, bool fused) {
  kernel_plan plan{what, *infer(what), {}, {}, {}};
  plan.states = parameters(what, plan.shapes);
  auto counts = count_uses(what);
  auto first = static_cast<int>(what.inputs.size());
  for (int value = first; value < static_cast<int>(what.num_values());
       ++value) {
    auto& node = what.node(value);
    if (!fused || plan.stages.empty()
        || !joins(what, plan.stages.back(), value, counts))
      plan.stages.push_back({{}, -1, {}, node.operand, value});
    auto& stage = plan.stages.back();
    if (!node.row->elementwise())
      stage.core = value;
    else if (stage.core < 0)
      stage.before.push_back(value);
    else
      stage.after.push_back(value);
    stage.result = value;
  }
  assign_buffers(plan);
  return plan;
}

std::string times(const std::vector<std::string>& factors) {
  std::string text;
  for (auto& factor : factors)
    if (factor != "1")
      text += text.empty() ? factor : "*" + factor;
  return text.empty() ? "1" : text;
}

std::string address(const std::string& buffer, const std::string& index) {
  return buffer == output_name(0) ? buffer + "+" + index
                                  : "&" + buffer + "[" + index + "]";
}

std::string rename(const std::string& text, const std::string& name,
                   const std::string& with) {
  auto word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (!word(text[i])) {
      out += text[i++];
      continue;
    }
    auto end = i;
    while (end < text.size() && word(text[end]))
      ++end;
    auto found = text.substr(i, end - i);
    out += found == name ? with : found;
    i = end;
  }
  return out;
}

} // namespace swage
