#include "tools/swage/run_tables.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include <vector>

using namespace swage;

namespace {

/// A short run: taught, evaluated, one step of reinforcement learning.
run_view sample_run() {
  run_view run;
  run.outline = {.stages = 4, .ended = {}, .saved = true};
  run.running = true;
  run.stages = {{.index = 0, .name = "sft", .over = true, .trained_s = 9},
                {.index = 1, .name = "eval", .version = 600, .over = true},
                {.index = 2,
                 .name = "rl-single",
                 .version = 600,
                 .items = 8,
                 .samples = 64,
                 .batches = 2,
                 .committed = 1,
                 .begun_s = 1000,
                 .ended_s = 1016}};
  run.states = {{2, "discarded", "no_spread", 3}, {2, "assigned", "none", 5}};
  run.categories = {{2, "ok", 48}, {2, "compile_error:compiler", 16}};
  run.best = {{.item = 7,
               .index = 3,
               .stage = 2,
               .task = "softmax_3",
               .level = 1,
               .category = "ok",
               .success = true,
               .speedup = 2.25,
               .score = 1.6,
               .version = 612,
               .response = "void kernel() {}"}};
  run.hops = {{2, "decode", 64, 0.5, 0.5, 1, 2},
              {2, "in flight", 64, 0.5, 0, 1, 2, "versions"},
              {2, "total", 64, 1.25, 1, 2, 2, "versions"}};
  run.drift = {{.step = 601,
                .mean_abs_p50 = 0.004,
                .floor = 0.0001,
                .masked_positive = 1,
                .masked_negative = 2,
                .delta = 0.02}};
  run.masked = {{{.step = 601,
                  .item = 9,
                  .index = 1,
                  .mean_abs = 0.031,
                  .staleness = 2,
                  .kept = false},
                 "gelu_1",
                 "ok",
                 1.1,
                 0.02}};
  run.batches = {{.step = 601, .stage = 2, .hash = 5, .committed = true}};
  return run;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("sections show what the run recorded", "[tools][inspect]") {
  auto run = sample_run();
  CHECK(has(stage_section(run), "rl-single  goes on"));
  CHECK(has(stage_section(run), "1/2  16 s"));
  CHECK(has(category_section(run), "compile_error:compiler       16  25.0 %"));
  CHECK(has(discard_section(run), "no_spread"));
  CHECK_FALSE(has(discard_section(run), "assigned"));
  CHECK(has(stage_section(run), "0/0   9 s"));
  auto hops = hop_section(run);
  auto times = hops.find("in seconds"), versions = hops.find("in versions");
  CHECK(times < hops.find("decode"));
  CHECK(hops.find("decode") < versions);
  CHECK(versions < hops.find("in flight"));
  CHECK(has(drift_section(run), "0.004"));
  CHECK(has(mask_section(run), "gelu_1   601   9.1  0.031   0.02"));
  CHECK(has(kernel_section(run, 3), "2.25x, reward 1.6"));
  CHECK(has(kernel_section(run, 3), "void kernel() {}\n"));
  CHECK(kernel_section(run, 0).find("softmax") == std::string::npos);
}

TEST_CASE("a run that does not go on says why", "[tools][inspect]") {
  auto run = sample_run();
  CHECK(state_section(run) == "It goes on.\n");
  run.running = false;
  CHECK(has(state_section(run), "--resume"));
  CHECK(has(stage_section(run), "rl-single  stopped"));
  run.outline.ended = "the run stalled: it waits for a rollout";
  CHECK(state_section(run)
        == "Stopped: the run stalled: it waits for a rollout.\n");
  CHECK(nlohmann::json::parse(run_json(run, 5))["ended"] == run.outline.ended);
  for (auto& stage : run.stages)
    stage.over = true;
  CHECK_FALSE(is_over(run)); // The fourth has not begun.
  run.outline.stages = 3;
  CHECK(state_section(run) == "It is over.\n");
}

TEST_CASE("an empty run has few sections", "[tools][inspect]") {
  run_view run;
  CHECK(evaluation_section(run).empty());
  CHECK(category_section(run).empty());
  CHECK(hop_section(run).empty());
  CHECK(drift_section(run).empty());
  CHECK(mask_section(run).empty());
  CHECK(kernel_section(run, 5).empty());
  CHECK(measured_edges(run).empty());
  CHECK(nlohmann::json::parse(run_json(run, 5))["stages"].empty());
}

TEST_CASE("long runs show a few steps of drift", "[tools][inspect]") {
  run_view run;
  for (uint64_t step = 1; step <= 500; ++step)
    run.drift.push_back({.step = step});
  auto text = drift_section(run);
  CHECK(has(text, "\n1   "));
  CHECK(has(text, "\n500 "));
  CHECK(std::count(text.begin(), text.end(), '\n') < 20);
}

TEST_CASE("edges carry rates, staleness and drift", "[tools][inspect]") {
  auto run = sample_run();
  // Of an earlier stage: the edges are those of the last one.
  run.batches.push_back({.step = 500, .stage = 0});
  run.drift.push_back({.step = 500, .mean_abs_p50 = 9, .floor = 9});
  auto edges = measured_edges(run);
  auto find = [&](const std::string& message) {
    auto found = std::ranges::find(edges, message, &edge_figures::message);
    REQUIRE(found != edges.end());
    return *found;
  };
  CHECK(find("grant").rate_per_s == 0.5);
  CHECK(find("submit").rate_per_s == 4);
  CHECK(find("submit").staleness == 0.5);
  CHECK(find("batch").staleness == 1.25);
  CHECK(find("judged").drift == 0.004);
  CHECK(find("rescore").drift == 0.0001);
}

TEST_CASE("the object holds every part of a run", "[tools][inspect]") {
  auto object = nlohmann::json::parse(run_json(sample_run(), 5));
  CHECK(object["stages"].size() == 3);
  CHECK(object["best_kernels"][0]["speedup"] == 2.25);
  CHECK(object["best_kernels"][0]["reward"] == 1.6);
  CHECK(object["hops"][1]["unit"] == "versions");
  CHECK(object["masked"][0]["staleness"] == 2);
  CHECK(object["drift"][0]["masked_negative"] == 2);
  CHECK(object["categories"][1]["samples"] == 16);
  CHECK(object["states"][0]["reason"] == "no_spread");
}

TEST_CASE("samples and topology are JSON too", "[tools][inspect]") {
  auto run = sample_run();
  auto failed = run.best.front();
  failed.success = false;
  failed.category = "compile_error:compiler";
  failed.detail = "k.cpp:1: no such \xff";
  auto samples = nlohmann::json::parse(samples_json({failed}))["samples"];
  REQUIRE(samples.size() == 1);
  CHECK(samples[0]["task"] == "softmax_3");
  CHECK(samples[0]["category"] == "compile_error:compiler");
  CHECK(samples[0]["detail"].get<std::string>().starts_with("k.cpp:1"));
  auto graph = nlohmann::json::parse(
    topology_json(make_topology({}), measured_edges(run)));
  CHECK(graph["nodes"][0]["actors"]["learner"] == 1);
  for (auto& edge : graph["edges"])
    if (edge["from"] == "rollout" && edge["to"] == "pool")
      CHECK(edge["per_second"] == 4.0);
}
