#include "tools/swage/run_tables.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace swage {

namespace {

using json = nlohmann::ordered_json;

json share_json(const share& what) {
  return {{"value", what.value}, {"low", what.low}, {"high", what.high}};
}

json stages_json(const run_view& run) {
  auto list = json::array();
  for (auto& x : run.stages)
    list.push_back({{"index", x.index},
                    {"name", x.name},
                    {"version", x.version},
                    {"over", x.over},
                    {"items", x.items},
                    {"samples", x.samples},
                    {"batches", x.batches},
                    {"committed", x.committed},
                    {"voided", x.voided},
                    {"begun_s", x.begun_s},
                    {"ended_s", x.ended_s},
                    {"trained_s", x.trained_s}});
  return list;
}

json column_json(const eval_column& column) {
  auto levels = json::array();
  for (auto& x : column.rows)
    levels.push_back({{"level", x.level},
                      {"tasks", x.tasks},
                      {"samples", x.samples},
                      {"samples_per_task", x.samples_per_task},
                      {"pass_at_k", share_json(x.pass_at_k)},
                      {"avg_at_k", share_json(x.avg_at_k)},
                      {"faster_rate", share_json(x.faster_rate)}});
  json outcomes = json::object();
  for (auto& [kind, count] : column.outcomes)
    outcomes[to_string(kind)] = count;
  return {{"title", column.title},
          {"version", column.version},
          {"levels", levels},
          {"outcomes", outcomes}};
}

json evaluations_json(const run_view& run) {
  auto list = json::array();
  for (auto& column : run.evaluations)
    list.push_back(column_json(column));
  return list;
}

json sample_json(const sample_record& x) {
  return {{"task", x.task},
          {"level", x.level},
          {"item", x.item},
          {"index", x.index},
          {"speedup", x.speedup > 0 ? json(x.speedup) : json()},
          {"reward", x.score},
          {"version", x.version},
          {"response", x.response}};
}

json kernels_json(const run_view& run, size_t kernels) {
  auto list = json::array();
  for (size_t i = 0; i < std::min(kernels, run.best.size()); ++i)
    list.push_back(sample_json(run.best[i]));
  return list;
}

json figure(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json();
}

json edge_json(const topology_edge& edge,
               std::span<const edge_figures> figures) {
  auto found = std::ranges::find_if(figures, [&](auto& row) {
    return row.from == edge.from && row.to == edge.to
           && row.message == edge.message;
  });
  auto row = found == figures.end() ? edge_figures{} : *found;
  return {{"from", edge.from},
          {"to", edge.to},
          {"message", edge.message},
          {"links", edge.links},
          {"remote", edge.remote},
          {"per_second", figure(row.rate_per_s)},
          {"staleness", figure(row.staleness)},
          {"drift", figure(row.drift)}};
}

/// A candidate or a compiler may write bytes that are no UTF-8.
std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

json hops_json(const run_view& run) {
  auto list = json::array();
  for (auto& x : run.hops)
    list.push_back({{"stage", x.stage},
                    {"hop", x.hop},
                    {"unit", x.unit},
                    {"samples", x.samples},
                    {"mean", x.mean},
                    {"p50", x.p50},
                    {"p90", x.p90},
                    {"max", x.max}});
  return list;
}

json drift_json(const run_view& run) {
  auto list = json::array();
  for (auto& x : run.drift)
    list.push_back({{"step", x.step},
                    {"mean_abs_p50", x.mean_abs_p50},
                    {"mean_abs_p90", x.mean_abs_p90},
                    {"mean_abs_max", x.mean_abs_max},
                    {"mean_signed_p50", x.mean_signed_p50},
                    {"floor", x.floor},
                    {"delta", x.delta},
                    {"staleness_mean", x.staleness_mean},
                    {"staleness_max", x.staleness_max},
                    {"samples", x.samples},
                    {"masked_positive", x.masked_positive},
                    {"masked_negative", x.masked_negative},
                    {"masked_zero", x.masked_zero},
                    {"tokens", x.tokens},
                    {"masked_tokens", x.masked_tokens},
                    {"capped_tokens", x.capped_tokens}});
  return list;
}

json masked_json(const run_view& run) {
  auto list = json::array();
  for (auto& x : run.masked)
    list.push_back({{"step", x.what.step},
                    {"item", x.what.item},
                    {"index", x.what.index},
                    {"task", x.task},
                    {"mean_abs", x.what.mean_abs},
                    {"mean_signed", x.what.mean_signed},
                    {"delta", x.delta},
                    {"floor", x.what.floor},
                    {"staleness", x.what.staleness},
                    {"return", x.ret},
                    {"category", x.category}});
  return list;
}

json counts_json(const run_view& run) {
  json object = {{"categories", json::array()}, {"states", json::array()}};
  for (auto& x : run.categories)
    object["categories"].push_back(
      {{"stage", x.stage}, {"category", x.category}, {"samples", x.samples}});
  for (auto& x : run.states)
    object["states"].push_back({{"stage", x.stage},
                                {"state", x.state},
                                {"reason", x.reason},
                                {"items", x.items}});
  return object;
}

json batches_json(const run_view& run) {
  auto list = json::array();
  for (auto& x : run.batches)
    list.push_back({{"step", x.step},
                    {"stage", x.stage},
                    {"hash", x.hash},
                    {"deliveries", x.deliveries},
                    {"committed", x.committed},
                    {"voided", x.voided},
                    {"stepped", x.report.stepped},
                    {"loss", x.report.loss},
                    {"mean_return", x.report.mean_return},
                    {"entropy", x.report.entropy},
                    {"samples", x.report.samples},
                    {"kept", x.report.kept},
                    {"wait_s", x.report.wait_s},
                    {"train_s", x.report.train_s}});
  return list;
}

} // namespace

std::string run_json(const run_view& run, size_t kernels) {
  json object = {{"over", is_over(run)},
                 {"running", run.running},
                 {"ended", run.outline.ended},
                 {"stages", stages_json(run)},
                 {"evaluations", evaluations_json(run)},
                 {"best_kernels", kernels_json(run, kernels)},
                 {"hops", hops_json(run)},
                 {"drift", drift_json(run)},
                 {"masked", masked_json(run)},
                 {"batches", batches_json(run)}};
  object.update(counts_json(run));
  return text_of(object);
}

std::string samples_json(const std::vector<sample_record>& samples) {
  auto list = json::array();
  for (auto& x : samples) {
    auto row = sample_json(x);
    row.update({{"category", x.category}, {"detail", x.detail}});
    list.push_back(std::move(row));
  }
  return text_of({{"samples", list}});
}

std::string topology_json(const topology& graph,
                          std::span<const edge_figures> figures) {
  auto nodes = json::array(), edges = json::array();
  for (auto& node : graph.nodes) {
    json actors = json::object();
    for (auto& [kind, count] : node.actors)
      actors[std::string{kind}] = count;
    nodes.push_back({{"name", node.name},
                     {"address", node.address},
                     {"head", node.head},
                     {"actors", actors}});
  }
  for (auto& edge : graph.edges)
    edges.push_back(edge_json(edge, figures));
  return text_of({{"nodes", nodes}, {"edges", edges}});
}

std::string evaluation_json(const eval_column& column) {
  return column_json(column).dump();
}

} // namespace swage
