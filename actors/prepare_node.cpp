#include "actors/local_node.hpp"
#include "runtime/buffer/sqlite_journal.hpp"
#include "runtime/config/built.hpp"
#include "runtime/learn/train_batch.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/policy/prompt_room.hpp"
#include "runtime/policy/rollout_tools.hpp"
#include "runtime/task/task_sets.hpp"
#include "runtime/verify/load_tasks.hpp"
#include "runtime/verify/start_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace swage {

namespace {

double steady_s() {
  return std::chrono::duration<double>(
           std::chrono::steady_clock::now().time_since_epoch())
    .count();
}

result<node_config> find_me(const config& settings, const std::string& name) {
  if (settings.cluster.nodes.empty()) {
    node_config alone;
    alone.name = "head";
    alone.actors = settings.actors;
    return alone;
  }
  auto& nodes = settings.cluster.nodes;
  auto it = std::find_if(nodes.begin(), nodes.end(),
                         [&](auto& node) { return node.name == name; });
  if (it == nodes.end())
    return fail(ec::invalid_config,
                fmt::format("no [[cluster.node]] is named '{}'", name));
  return *it;
}

result<void> start_judges(node_materials& out) {
  for (uint32_t i = 0; i < out.me.actors.verifier; ++i) {
    auto made = start_engine(out.settings.verifier);
    if (!made)
      return tl::unexpected(made.error());
    (*made)->on_measure = [gate = out.gate](bool begins) {
      gate->measuring(begins);
    };
    out.judges.push_back(judge_of(std::move(*made)));
  }
  return {};
}

/// A generated task knows its arguments; those of a suite are known to who has
/// run it, and prompts show them.
result<void> load_suite_tasks(const config& settings, task_sets& sets) {
  if (settings.tasks.suite == "generated")
    return {};
  auto judge = start_engine(settings.verifier, needs_programs(settings.tasks));
  if (!judge)
    return tl::unexpected(judge.error());
  load_listener told;
  told.on_left_out = [](const task& one, const error& why) {
    log_warning(fmt::format("task {} is left out: {}", one.id, why.message));
  };
  for (auto* set : {&sets.train, &sets.validation, &sets.held_out}) {
    if (set->empty())
      continue;
    auto loaded = load_tasks(**judge, *set, told);
    if (!loaded)
      return tl::unexpected(loaded.error());
    *set = std::move(*loaded);
  }
  return {};
}

result<void> check_prompts(const config& settings, const task_sets& sets) {
  auto tokens = tokenizer::load(std::filesystem::path{settings.policy.path}
                                / "tokenizer.json");
  if (!tokens)
    return tl::unexpected(tokens.error());
  auto too_long = count_too_long(sets, settings, *tokens);
  if (!too_long)
    return tl::unexpected(too_long.error());
  if (*too_long > 0)
    log_warning(fmt::format("the prompts of {} tasks leave no room for a "
                            "response within policy.max_tokens = {}",
                            *too_long, settings.policy.max_tokens));
  return {};
}

result<void> open_buffer(node_materials& out) {
  auto sets = load_task_sets(out.settings, log_warning);
  if (!sets)
    return tl::unexpected(sets.error());
  if (auto loaded = load_suite_tasks(out.settings, *sets); !loaded)
    return loaded;
  if (auto fit = check_prompts(out.settings, *sets); !fit)
    return fit;
  auto journal = sqlite_journal::open(out.options.out / "run.db");
  if (!journal)
    return tl::unexpected(journal.error());
  auto core = buffer_core::open(std::move(*journal), out.settings,
                                std::move(*sets), steady_s());
  if (!core)
    return tl::unexpected(core.error());
  out.buffer = std::move(*core);
  return {};
}

result<void> make_policy(node_materials& out) {
  auto& counts = out.me.actors;
  auto& make = out.options.policy;
  for (uint32_t i = 0; i < counts.rollout; ++i) {
    auto made = make.make_generator();
    if (!made)
      return tl::unexpected(made.error());
    out.generators.push_back(std::move(*made));
  }
  if (counts.rollout > 0) {
    auto tokens = tokenizer::load(
      std::filesystem::path{out.settings.policy.path} / "tokenizer.json");
    if (!tokens)
      return tl::unexpected(tokens.error());
    out.tools = make_rollout_tools(
      out.settings, std::make_shared<const tokenizer>(std::move(*tokens)));
  }
  if (counts.learner == 0)
    return {};
  for (auto& warning : thread_warnings(out.settings))
    log_warning(warning);
  auto learners = make.make_trainers(counts.learner);
  if (!learners)
    return tl::unexpected(learners.error());
  for (auto& one : *learners)
    out.learners.push_back(std::move(one));
  auto mirror = make.make_scorer();
  if (!mirror)
    return tl::unexpected(mirror.error());
  out.mirror = std::move(*mirror);
  return {};
}

} // namespace

result<node_materials> prepare_node(const config& settings,
                                    const node_options& options) {
  node_materials out;
  out.settings = settings;
  out.options = options;
  auto me = find_me(settings, options.node);
  if (!me)
    return tl::unexpected(me.error());
  out.me = std::move(*me);
  if (auto built = check_built(settings, {}); !built)
    return tl::unexpected(built.error());
  out.head = settings.cluster.nodes.empty()
             || out.me.name == settings.cluster.head;
  if (out.head)
    out.report = std::make_shared<reporter>(options.out);
  using step = result<void> (*)(node_materials&);
  for (step one : {start_judges, make_policy})
    if (auto done = one(out); !done)
      return tl::unexpected(done.error());
  if (out.head)
    if (auto opened = open_buffer(out); !opened)
      return tl::unexpected(opened.error());
  return out;
}

} // namespace swage
