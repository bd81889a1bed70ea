#include "runtime/task/kernel_writer.hpp"

#include "runtime/task/fill.hpp"
#include "runtime/task/prototype.hpp"
#include "runtime/task/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

/// Names of all dimensions but the last.
std::vector<std::string> leading(const value_shape& shape) {
  return {shape.names.begin(), shape.names.end() - 1};
}

/// A constant as C: float, so that arithmetic is not widened.
std::string c_constant(double value) {
  auto text = constant_text(value);
  return text.find('.') == text.npos ? text : text + "f";
}

/// Whether an expression is one element, so that no operator binds tighter.
bool is_element(const std::string& expression) {
  return expression.ends_with(']')
         && expression.find_first_of("+-*/?(") > expression.find('[');
}

bool mentions_once(const std::string& expression) {
  return rename(expression, "v", "\1").find('\1')
         == rename(expression, "v", "\1").rfind('\1');
}

} // namespace

std::string kernel_writer::write() {
  text_ = kernel_head(*signature_of(plan_.what)) + "{\n";
  auto lead = leading(plan_.shapes[0]);
  for (size_t i = 0; i + 1 < plan_.stages.size(); ++i)
    if (plan_.introduces(i) && !(form_.by_row && form_.threads))
      declare(plan_.buffer(plan_.stages[i].result),
              plan_.shape(plan_.stages[i].result));
  if (form_.by_row) {
    thread_pragma();
    open("i", times(lead));
    if (form_.threads)
      for (size_t i = 0; i + 1 < plan_.stages.size(); ++i)
        if (plan_.introduces(i))
          declare(plan_.buffer(plan_.stages[i].result),
                  plan_.shape(plan_.stages[i].result));
  }
  for (size_t i = 0; i < plan_.stages.size(); ++i)
    stage(i);
  if (form_.by_row)
    close();
  close();
  return text_;
}

std::string kernel_writer::write_in_blocks() {
  text_ = kernel_head(*signature_of(plan_.what)) + "{\n";
  auto& shape = plan_.shapes.back();
  line(fmt::format("long n={};", times(shape.names)));
  line("for(long b=0;b<n;b+=512){");
  line("long e=std::min(b+512,n);");
  auto at = flat_place(shape);
  for (auto& stage : plan_.stages) {
    auto inside = body(load(stage.source, at), stage.before, at, "y[i]");
    if (inside.size() == 1) {
      line("for(long i=b;i<e;i++)" + inside[0]);
      continue;
    }
    line("for(long i=b;i<e;i++){");
    for (auto& statement : inside)
      line(statement);
    close();
  }
  close();
  close();
  return text_;
}

void kernel_writer::stage(size_t index) {
  auto& now = plan_.stages[index];
  if (now.core < 0)
    return elementwise(now);
  switch (plan_.what.node(now.core).row->kind) {
  case family::loss:
    return loss(now);
  case family::layout:
    return move(now);
  case family::linear:
  case family::matmul:
    return product(now);
  default:
    return axis(now);
  }
}

void kernel_writer::elementwise(const kernel_stage& stage) {
  auto& shape = plan_.shape(stage.result);
  auto target = plan_.buffer(stage.result);
  bool nest = form_.by_row
              || (form_.fused && needs_nest(stage.before, stage.source));
  auto at = nest ? nested_place(shape) : flat_place(shape);
  auto store = fmt::format("{}[{}]", target,
                           form_.by_row && target != "y" ? at.in_row : at.flat);
  auto inside = body(load(stage.source, at), stage.before, at, store);
  if (!nest) {
    thread_pragma(form_.simd);
    if (!form_.threads)
      simd_pragma();
    return loop("i", times(shape.names), inside);
  }
  if (!form_.by_row) {
    thread_pragma();
    open("i", times(leading(shape)));
  }
  simd_pragma();
  loop("j", shape.names.back(), inside);
  if (!form_.by_row)
    close();
}

void kernel_writer::loss(const kernel_stage& stage) {
  auto& shape = plan_.shape(stage.source);
  auto nodes = stage.before;
  bool nest = form_.fused
              && (needs_nest(nodes, stage.source)
                  || plan_.strided(plan_.what.node(stage.core).other));
  auto at = nest ? nested_place(shape) : flat_place(shape);
  auto step = expression(stage.core, at);
  auto inside = body(load(stage.source, at), nodes, at, "");
  inside.push_back(step + ";");
  // Adding many alike numbers in single precision drifts.
  line("double s=0;");
  auto clause = std::string{"reduction(+:s)"};
  if (form_.threads)
    line("#pragma omp parallel for " + clause);
  else if (!nest)
    simd_pragma(clause);
  if (nest) {
    open("i", times(leading(shape)));
    if (!form_.threads)
      simd_pragma(clause);
    loop("j", shape.names.back(), inside);
    close();
  } else {
    loop("i", times(shape.names), inside);
  }
  line(fmt::format("y[0]=s/({});", times(shape.names)));
}

loop_place kernel_writer::flat_place(const value_shape& shape) const {
  loop_place at;
  auto rank = shape.names.size();
  at.flat = at.in_row = "i";
  if (rank == 0)
    return at;
  auto n = shape.names.back();
  at.last = rank == 1 ? "i" : "i%" + n;
  at.row = "i/" + n;
  at.column = "i%" + n;
  if (rank == 3)
    at.channel = fmt::format("i/{}%{}", n, shape.names[1]);
  return at;
}

loop_place kernel_writer::nested_place(const value_shape& shape) const {
  loop_place at;
  auto n = shape.names.back();
  at.flat = fmt::format("i*{}+j", n);
  at.row = "i";
  at.column = at.last = at.in_row = "j";
  if (shape.names.size() == 3)
    at.channel = "i%" + shape.names[1];
  return at;
}

bool kernel_writer::needs_nest(const std::vector<int>& nodes,
                               int source) const {
  if (plan_.shape(source).names.size() < 2)
    return false;
  bool found = plan_.strided(source);
  for (auto value : nodes) {
    auto& node = plan_.what.node(value);
    auto kind = node.row->parameters[0];
    found |= kind == parameter_kind::last || kind == parameter_kind::channel
             || (node.other >= 0 && plan_.strided(node.other));
  }
  return found;
}

std::string kernel_writer::load(int value, const loop_place& at) const {
  auto name = plan_.buffer(value);
  if (plan_.strided(value)) {
    auto input = static_cast<size_t>(value);
    return fmt::format("{}[{}*{}+{}*{}]", name, at.row, stride_name(input, 0),
                       at.column, stride_name(input, 1));
  }
  bool row_buffer = form_.by_row && !plan_.what.is_input(value) && name != "y";
  return fmt::format("{}[{}]", name, row_buffer ? at.in_row : at.flat);
}

std::string kernel_writer::filled(const char* text, int value,
                                  const loop_place& at) const {
  auto& node = plan_.what.node(value);
  substitutions with = {{"n", at.length}};
  if (node.other >= 0 && node.row->kind != family::matmul)
    with.emplace_back("a", load(node.other, at));
  constexpr std::string_view keys[] = {"c0", "c1", "w", "w1"};
  for (size_t i = 0; i < node.constants.size(); ++i)
    with.emplace_back(keys[i], c_constant(node.constants[i]));
  size_t owned = 2;
  for (auto& state : plan_.states)
    if (state.value == value) {
      auto index = state.kind == parameter_kind::last      ? at.last
                   : state.kind == parameter_kind::channel ? at.channel
                                                           : "0";
      with.emplace_back(keys[owned++],
                        fmt::format("{}[{}]", state.name, index));
    }
  return fill(text, with);
}

std::string kernel_writer::expression(int node, const loop_place& at) const {
  return filled(plan_.what.node(node).row->c, node, at);
}

kernel_writer::lines kernel_writer::body(const std::string& source,
                                         const std::vector<int>& nodes,
                                         const loop_place& at,
                                         const std::string& target) const {
  if (nodes.empty() && !target.empty())
    return {target + "=" + source + ";"};
  if (nodes.size() == 1 && !target.empty() && is_element(source)) {
    auto only = expression(nodes[0], at);
    if (mentions_once(only))
      return {target + "=" + rename(only, "v", source) + ";"};
  }
  lines out = {"float v=" + source + ";"};
  for (auto node : nodes)
    out.push_back("v=" + expression(node, at) + ";");
  if (!target.empty())
    out.back().replace(0, 1, target);
  return out;
}

void kernel_writer::loop(const std::string& variable, const std::string& limit,
                         const lines& body) {
  auto head = fmt::format("for(long {0}=0;{0}<{1};{0}++)", variable, limit);
  if (body.size() == 1)
    return line(head + body[0]);
  line(head + "{");
  for (auto& statement : body)
    line(statement);
  close();
}

void kernel_writer::open(const std::string& variable,
                         const std::string& limit) {
  line(fmt::format("for(long {0}=0;{0}<{1};{0}++){{", variable, limit));
}

void kernel_writer::close() {
  line("}");
}

void kernel_writer::declare(const std::string& buffer,
                            const value_shape& shape) {
  auto size = form_.by_row ? shape.names.back() : times(shape.names);
  line(fmt::format("std::vector<float>{}({});", buffer, size));
}

void kernel_writer::define(const std::string& type, const std::string& name,
                           const std::string& value) {
  bool known = std::ranges::find(row_variables_, name) != row_variables_.end();
  line(fmt::format("{}{}={};", known ? "" : type, name, value));
  if (form_.by_row && !known)
    row_variables_.push_back(name);
}

void kernel_writer::thread_pragma(bool inner_too) {
  if (form_.threads)
    line(inner_too ? "#pragma omp parallel for simd"
                   : "#pragma omp parallel for");
}

void kernel_writer::simd_pragma(const std::string& reduction) {
  if (form_.simd)
    line(reduction.empty() ? "#pragma omp simd"
                           : "#pragma omp simd " + reduction);
}

std::string write_kernel(const program& what, const kernel_form& form) {
  auto plan = make_plan(what, form.fused);
  return kernel_writer{plan, form}.write();
}

bool is_plain_chain(const program& what) {
  if (what.nodes.size() < 2)
    return false;
  auto plan = make_plan(what, false);
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    auto& node = what.nodes[i];
    if (!node.row->elementwise() || plan.buffer(plan.stages[i].result) != "y"
        || plan.strided(node.operand)
        || (node.other >= 0 && plan.strided(node.other)))
      return false;
  }
  return true;
}

bool is_row_local(const program& what) {
  auto shapes = *infer(what);
  auto rank = static_cast<int>(what.inputs[0].shape.size());
  if (rank < 2)
    return false;
  for (size_t i = 0; i < what.nodes.size(); ++i) {
    auto& node = what.nodes[i];
    auto kind = node.row->kind;
    bool last = i + 1 == what.nodes.size();
    bool along = node.axis == rank - 1 && !node.row->has(needs_divisible);
    bool axis_fits = kind == family::normalise || kind == family::scan ? along
                     : kind == family::reduce ? along && last
                                              : true;
    bool whole = kind != family::matmul || what.is_input(node.other);
    if (!axis_fits || !whole || kind == family::layout || kind == family::loss
        || node.row->has(needs_rank3))
      return false;
  }
  return true;
}

} // namespace swage
