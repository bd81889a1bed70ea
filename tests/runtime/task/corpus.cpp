// Prints the generated sets as JSON lines, each with prompts and synthesised
// solutions: what the tokenizer is trained on, and what the check against
// PyTorch reads.

#include "runtime/task/generate.hpp"
#include "runtime/task/operators.hpp"
#include "runtime/task/prompt.hpp"
#include "runtime/task/prototype.hpp"
#include "runtime/task/synthesise.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>

using namespace swage;
using nlohmann::json;

namespace {

json to_json(const std::vector<tensor_spec>& tensors) {
  auto rows = json::array();
  for (auto& tensor : tensors)
    rows.push_back({{"name", tensor.name},
                    {"shape", tensor.shape},
                    {"strides", tensor.strides}});
  return rows;
}

json to_json(const task& what, const char* set) {
  json row = {
    {"id", what.id},
    {"set", set},
    {"level", what.level},
    {"tags", what.tags},
    {"program", what.program},
    {"canonical", what.canonical},
    {"reference", what.reference},
    {"prototype", prototype(what.args)},
    {"sizes", size_arguments(what.args)},
    {"prompt", render_prompt(what, "compact")},
    {"inputs", to_json(what.args.inputs)},
    {"state", to_json(what.args.state)},
    {"outputs", to_json(what.args.outputs)},
  };
  auto solutions = synthesise(what);
  if (!solutions) {
    fmt::print(stderr, "{}: {}\n", what.id, solutions.error().message);
    std::exit(1);
  }
  for (auto& found : *solutions)
    row["solutions"].push_back(
      {{"strategy", found.strategy}, {"source", found.source}});
  return row;
}

} // namespace

/// usage: swage-corpus [TRAIN [VALIDATION [HELD_OUT [SEED]]]]
int main(int argc, char** argv) {
  tasks_config tasks;
  auto given = [&](int i, auto& value) {
    if (i < argc)
      value = static_cast<std::decay_t<decltype(value)>>(
        std::strtoull(argv[i], nullptr, 10));
  };
  given(1, tasks.train);
  given(2, tasks.validation);
  given(3, tasks.held_out);
  given(4, tasks.seed);
  auto sets = generate_sets(tasks, {});
  if (!sets) {
    fmt::print(stderr, "{}\n", sets.error().message);
    return 1;
  }
  auto print = [](const std::vector<task>& all, const char* set) {
    for (auto& what : all)
      fmt::print("{}\n", to_json(what, set).dump());
  };
  print(sets->train, "train");
  print(sets->validation, "validation");
  print(sets->held_out, "held_out");
  return 0;
}
