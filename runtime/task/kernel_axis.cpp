#include "runtime/task/kernel_writer.hpp"

#include <fmt/format.h>

#include <string_view>

namespace swage {

/// A loop nest around one axis: `outer` loops, then j over `at.length`.
struct axis_walk {
  std::vector<std::pair<std::string, std::string>> outer; ///< Variable, limit.
  loop_place at;
  std::string base;    ///< Flat index of the slice's first element.
  std::string element; ///< What j adds to it.
  std::string
    stride;        ///< Elements from one j to the next, "1" if the last axis.
  std::string out; ///< Index of the slice in a reduced value.
};

namespace {

/// Whether a step changes the element, so that it must be stored.
bool rewrites(const axis_pass& pass) {
  return std::string_view{pass.step}.starts_with("v=");
}

bool mentions_v_once(const std::string& text) {
  auto marked = rename(text, "v", "\1");
  return marked.find('\1') == marked.rfind('\1');
}

} // namespace

axis_walk kernel_writer::walk_of(const kernel_stage& stage) const {
  auto& names = plan_.shape(stage.source).names;
  auto axis = static_cast<size_t>(plan_.what.node(stage.core).axis);
  auto rank = names.size();
  auto split = names.begin() + static_cast<long>(axis);
  auto a = times({names.begin(), split}), n = names[axis];
  auto b = times({split + 1, names.end()});
  axis_walk walk;
  auto& at = walk.at;
  at.length = n;
  walk.stride = b;
  if (axis + 1 == rank) {
    walk.outer = {{"i", a}};
    walk.base = "i*" + n;
    walk.element = at.column = at.last = at.in_row = "j";
    walk.out = at.row = "i";
    at.flat = walk.base + "+j";
    at.channel = rank == 3 ? "i%" + names[1] : "";
    return walk;
  }
  walk.element = "j*" + b;
  if (axis == 0) {
    walk.outer = {{"k", b}};
    walk.base = walk.out = at.column = "k";
    at.row = "j";
    at.flat = walk.element + "+k";
    at.last = rank == 2 ? "k" : "k%" + names[2];
    at.channel = rank == 3 ? "k/" + names[2] : "";
    return walk;
  }
  walk.outer = {{"i", a}, {"k", b}};
  walk.base = fmt::format("i*{}*{}+k", n, b);
  walk.out = fmt::format("i*{}+k", b);
  at.flat = fmt::format("(i*{}+j)*{}+k", n, b);
  at.last = "k";
  at.channel = "j";
  return walk;
}

axis_walk kernel_writer::group_walk(const kernel_stage& stage) {
  auto& names = plan_.shape(stage.source).names;
  auto groups = plan_.what.node(stage.core).count;
  line(fmt::format("long n={}/{}*{};", names[1], groups, names[2]));
  axis_walk walk;
  walk.outer = {{"i", fmt::format("{}*{}", names[0], groups)}};
  walk.base = "i*n";
  walk.element = "j";
  walk.stride = "1";
  walk.at.flat = "i*n+j";
  walk.at.length = "n";
  walk.at.last = "j%" + names[2];
  walk.at.channel = fmt::format("i%{0}*({1}/{0})+j/{2}", groups, names[1],
                                names[2]);
  return walk;
}

void kernel_writer::axis(const kernel_stage& stage) {
  auto& row = *plan_.what.node(stage.core).row;
  auto walk = row.has(needs_divisible) ? group_walk(stage) : walk_of(stage);
  if (row.kind == family::reduce && form_.blocked && walk.stride != "1"
      && !row.passes[1].var)
    return accumulate(stage, walk);
  if (!form_.by_row) {
    thread_pragma();
    for (auto& [variable, limit] : walk.outer)
      open(variable, limit);
  }
  if (row.kind == family::reduce)
    reduce(stage, walk);
  else if (row.kind == family::scan)
    scan(stage, walk);
  else
    normalise(stage, walk);
  if (!form_.by_row)
    for (size_t i = 0; i < walk.outer.size(); ++i)
      close();
}

/// One pass over the slice. It reads `store` if an earlier pass wrote there,
/// and writes there if the element changed.
void kernel_writer::pass(const kernel_stage& stage, const axis_walk& walk,
                         int number, const std::string& store) {
  auto& row = *plan_.what.node(stage.core).row;
  auto& now = row.passes[number];
  bool stored = number > 0 && !store.empty()
                && (!stage.before.empty() || rewrites(row.passes[0]));
  define("float ", now.var, now.init);
  auto source = stored ? store : load(stage.source, walk.at);
  auto step = filled(now.step, stage.core, walk.at);
  bool first = number == 0;
  bool store_now = !store.empty()
                   && (rewrites(now) || (first && !stage.before.empty()));
  lines inside;
  if ((!first || stage.before.empty()) && !store_now && mentions_v_once(step)) {
    inside = {rename(step, "v", source) + ";"};
  } else {
    inside = body(source, first ? stage.before : std::vector<int>{}, walk.at,
                  "");
    inside.push_back(step + ";");
    if (store_now)
      inside.push_back(store + "=v;");
  }
  simd_pragma(fmt::format("reduction({}:{})", now.combine, now.var));
  loop("j", walk.at.length, inside);
  if (now.after)
    line(filled(now.after, stage.core, walk.at) + ";");
}

void kernel_writer::finish(const kernel_stage& stage, const axis_walk& walk,
                           const std::string& value,
                           const std::string& target) {
  for (auto& statement : body(value, stage.after, walk.at, target))
    line(statement);
}

void kernel_writer::reduce(const kernel_stage& stage, const axis_walk& walk) {
  auto& row = *plan_.what.node(stage.core).row;
  bool two = row.passes[1].var != nullptr;
  std::string store;
  if (two && !stage.before.empty()) {
    line(fmt::format("std::vector<float>p({});", walk.at.length));
    store = "p[j]";
  }
  pass(stage, walk, 0, store);
  if (two)
    pass(stage, walk, 1, store);
  finish(stage, walk, expression(stage.core, walk.at),
         fmt::format("{}[{}]", plan_.buffer(stage.result), walk.out));
}

/// Sums whole lines into the result, instead of one column after another.
void kernel_writer::accumulate(const kernel_stage& stage,
                               const axis_walk& walk) {
  auto& row = *plan_.what.node(stage.core).row;
  auto target = plan_.buffer(stage.result);
  bool batched = walk.outer.size() == 2;
  auto limit = walk.outer.back().second;
  if (batched) {
    thread_pragma();
    open("i", walk.outer[0].second);
    define("float*", "p", address(target, "i*" + limit));
  }
  auto cell = (batched ? "p" : target) + "[k]";
  loop("k", limit, {fmt::format("{}={};", cell, row.passes[0].init)});
  auto step = rename(filled(row.passes[0].step, stage.core, walk.at), "s",
                     cell);
  auto source = load(stage.source, walk.at);
  lines inside;
  if (stage.before.empty() && mentions_v_once(step)) {
    inside = {rename(step, "v", source) + ";"};
  } else {
    inside = body(source, stage.before, walk.at, "");
    inside.push_back(step + ";");
  }
  open("j", walk.at.length);
  loop("k", limit, inside);
  close();
  auto value = rename(expression(stage.core, walk.at), "s", cell);
  if (value != cell || !stage.after.empty())
    loop("k", limit, body(value, stage.after, walk.at, cell));
  if (batched)
    close();
}

void kernel_writer::normalise(const kernel_stage& stage,
                              const axis_walk& walk) {
  auto& row = *plan_.what.node(stage.core).row;
  auto target = plan_.buffer(stage.result);
  std::string store = target + "[j]";
  if (!form_.by_row || target == "y") {
    define("float*", "p", address(target, walk.base));
    store = fmt::format("p[{}]", walk.element);
  }
  bool rewritten = !stage.before.empty();
  for (int i = 0; i < 2 && row.passes[i].var; ++i) {
    pass(stage, walk, i, store);
    rewritten |= rewrites(row.passes[i]);
  }
  auto source = rewritten ? store : load(stage.source, walk.at);
  auto value = expression(stage.core, walk.at);
  simd_pragma();
  if (mentions_v_once(value))
    return loop("j", walk.at.length,
                body(rename(value, "v", source), stage.after, walk.at, store));
  auto inside = body(source, {stage.core}, walk.at, "");
  auto rest = body("v", stage.after, walk.at, store);
  inside.insert(inside.end(), rest.begin() + !stage.after.empty(), rest.end());
  loop("j", walk.at.length, inside);
}

void kernel_writer::scan(const kernel_stage& stage, const axis_walk& walk) {
  auto& first = plan_.what.node(stage.core).row->passes[0];
  // A running sum that passes zero needs more digits than its elements.
  bool sums = std::string_view{first.init} == "0";
  define(sums ? "double " : "float ", "s", first.init);
  auto source = load(stage.source, walk.at);
  std::string step = first.step;
  lines inside;
  if (stage.before.empty()) {
    inside = {rename(step, "v", source) + ";"};
  } else {
    inside = body(source, stage.before, walk.at, "");
    inside.push_back(step + ";");
  }
  auto target = plan_.buffer(stage.result);
  auto store = fmt::format("{}[{}]", target,
                           form_.by_row && target != "y" ? walk.at.in_row
                                                         : walk.at.flat);
  auto rest = body("s", stage.after, walk.at, store);
  // The element is declared once: what follows assigns it again.
  if (rest.size() > 1 && !stage.before.empty())
    rest[0] = "v=s;";
  inside.insert(inside.end(), rest.begin(), rest.end());
  loop("j", walk.at.length, inside);
}

} // namespace swage
