#include "runtime/observe/topology_text.hpp"

#include "runtime/observe/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace swage {

namespace {

/// A box of three lines, `inner` characters wide inside.
struct box {
  std::string top, middle, bottom;
};

box make_box(const std::string& label, size_t inner) {
  std::string rule;
  for (size_t i = 0; i < inner; ++i)
    rule += "─";
  std::string space(inner - std::min(inner, text_width(label) + 1), ' ');
  return {"┌" + rule + "┐", "│ " + label + space + "│", "└" + rule + "┘"};
}

std::string label(const topology& graph, std::string_view kind) {
  return fmt::format("{} × {}", kind, graph.count(kind));
}

/// Fits every label up to "coordinator × 1024".
constexpr size_t inner_width = 16;

/// Boxes side by side, joined by an arrow, with messages above and below it.
std::string box_row(const std::array<box, 3>& boxes, std::string_view arrow,
                    const std::array<std::string_view, 4>& messages) {
  auto& [left, middle, right] = boxes;
  auto above = fmt::format("{} {:^11} {} {:^11} {}\n", left.top, messages[0],
                           middle.top, messages[1], right.top);
  auto between = fmt::format("{} {} {} {} {}\n", left.middle, arrow,
                             middle.middle, arrow, right.middle);
  auto below = fmt::format("{} {:^11} {} {:^11} {}\n", left.bottom, messages[2],
                           middle.bottom, messages[3], right.bottom);
  return above + between + below;
}

std::string drawing(const topology& graph) {
  auto boxed = [&](std::string_view kind) {
    return make_box(label(graph, kind), inner_width);
  };
  auto upper = box_row({boxed("buffer"), boxed("rollout"), boxed("verifier")},
                       "◄─────────►",
                       {"grant", "candidate", "submit", "verdict"});
  auto lower = box_row({boxed("mirror"), boxed("learner"), boxed("publisher")},
                       "──────────►", {"judged", "snapshot", "", ""});
  return upper
         + "     │    ▲                          ▲\n"
           "batch│    │judgement, commit         └────── weights ──────┐\n"
           "     ▼    │                                                │\n"
         + lower;
}

std::string node_table(const topology& graph) {
  table rows{{"node", "address", "actors"}};
  rows.align_left(1);
  rows.align_left(2);
  for (auto& node : graph.nodes) {
    std::string actors;
    for (auto& [kind, count] : node.actors)
      actors += fmt::format("{}{} × {}", actors.empty() ? "" : ", ", kind,
                            count);
    rows.add({node.name + (node.head ? " (head)" : ""),
              node.address.empty() ? "this process" : node.address,
              actors.empty() ? "none" : actors});
  }
  return rows.text();
}

std::string figure(const std::optional<double>& value, int digits) {
  return value && std::isfinite(*value) ? fmt::format("{:.{}g}", *value, digits)
                                        : "-";
}

std::string edge_table(const topology& graph,
                       std::span<const edge_figures> figures) {
  std::vector<std::string> header = {"edge", "message", "links"};
  if (!figures.empty())
    header.insert(header.end(), {"per second", "staleness", "drift"});
  header.push_back("path");
  table rows{header};
  rows.align_left(1);
  rows.align_left(header.size() - 1);
  for (auto& edge : graph.edges) {
    std::vector<std::string> cells = {
      fmt::format("{} → {}", edge.from, edge.to), std::string{edge.message},
      fmt::format("{}", edge.links)};
    auto found = std::ranges::find_if(figures, [&](auto& row) {
      return row.from == edge.from && row.to == edge.to
             && row.message == edge.message;
    });
    auto row = found == figures.end() ? edge_figures{} : *found;
    if (!figures.empty())
      cells.insert(cells.end(),
                   {figure(row.rate_per_s, 3), figure(row.staleness, 3),
                    figure(row.drift, 3)});
    cells.push_back(edge.remote ? "network" : "in process");
    rows.add(std::move(cells));
  }
  return rows.text();
}

} // namespace

std::string topology_text(const topology& graph,
                          std::span<const edge_figures> figures) {
  return fmt::format("{}\n{}\n{}", drawing(graph), node_table(graph),
                     edge_table(graph, figures));
}

} // namespace swage
