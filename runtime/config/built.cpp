#include "runtime/config/built.hpp"

#include "runtime/config/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace swage {

namespace {

/// A value of a knob's choices that nothing here carries out.
struct unbuilt_value {
  std::string_view path, value;
  std::string_view what; ///< What is missing, and what there is.
};

constexpr std::array unbuilt = {
  unbuilt_value{"verifier.target", "cuda",
                "no verifier for CUDA devices is built; set it to cpu"},
  unbuilt_value{"verifier.target", "cuda-host",
                "CUDA kernels on the CPU are not built; set it to cpu"},
  unbuilt_value{"verifier.target", "musa",
                "no verifier for MUSA devices is built; set it to cpu"},
  unbuilt_value{"verifier.form", "module",
                "Python modules as candidates are not built; set it to "
                "function"},
};

tl::unexpected<error> refusal(std::string_view path, std::string_view value,
                              std::string_view origin, std::string_view what) {
  return fail(ec::unsupported, fmt::format("{} = {}{}: {}", path, value, origin,
                                           what));
}

std::string origin_of(std::string_view path, const knob_origins& origins) {
  auto found = origins.find(path);
  return found == origins.end() ? ""
                                : fmt::format(" ({})", found->second);
}

std::string value_of(std::string_view path, const config& settings) {
  auto dot = path.find('.');
  auto* row = find_knob(path.substr(0, dot), path.substr(dot + 1));
  return value_text(*row, settings);
}

} // namespace

result<void> check_built(const config& settings, const knob_origins& origins) {
  for (auto& [path, value, what] : unbuilt)
    if (value_of(path, settings) == toml_quote(value))
      return refusal(path, toml_quote(value), origin_of(path, origins), what);
  auto& nodes = settings.cluster.nodes;
  auto trains = [](auto& node) { return node.actors.learner > 0; };
  if (std::ranges::count_if(nodes, trains) > 1)
    return refusal("actors.learner", value_of("actors.learner", settings),
                   origin_of("cluster.node", origins),
                   "ranks of a learner on several nodes are not built; set all "
                   "of them on one node");
  return {};
}

result<void> check_built(std::string_view path, std::string_view value) {
  for (auto& row : unbuilt)
    if (row.path == path && row.value == value)
      return refusal(path, toml_quote(value), "", row.what);
  return {};
}

} // namespace swage
