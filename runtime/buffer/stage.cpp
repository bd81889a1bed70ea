#include "runtime/buffer/stage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

sampling training_sampling(const config& from) {
  return {static_cast<float>(from.rollout.temperature),
          static_cast<float>(from.rollout.top_p), from.rollout.max_new_tokens,
          from.run.seed};
}

stage_plan collecting(const config& from, bool synthesised) {
  stage_plan row;
  row.source = item_source::training_pass;
  row.limit = synthesised ? from.tasks.taught : 0;
  row.items = synthesised ? item_kind::example : item_kind::task;
  row.rule = synthesised ? weights_rule::none : weights_rule::at_least;
  row.admission = admission_rule::concurrency;
  row.terminal = item_status::collected;
  row.samples = synthesised ? from.tasks.solutions_per_task
                            : from.rollout.group_size;
  return row;
}

stage_plan evaluating(const config& from, item_source source) {
  stage_plan row;
  row.source = source;
  row.items = item_kind::eval;
  row.rule = weights_rule::exactly;
  row.admission = admission_rule::concurrency;
  row.terminal = item_status::scored;
  row.samples = from.rollout.eval_samples;
  // The turns after the first are evaluated where they were trained for.
  auto& names = from.run.stages;
  if (std::find(names.begin(), names.end(), "rl-multi") != names.end())
    row.max_turns = from.rollout.max_turns;
  row.how.temperature = static_cast<float>(from.rollout.eval_temperature);
  row.how.top_p = static_cast<float>(from.rollout.eval_top_p);
  return row;
}

stage_plan reinforcing(const config& from, bool multi) {
  stage_plan row;
  row.objective = stage_objective::grpo;
  row.samples = from.rollout.group_size;
  row.batches = from.learner.steps;
  row.max_turns = multi ? from.rollout.max_turns : 1;
  return row;
}

stage_plan imitating(const config& from) {
  stage_plan row;
  row.source = item_source::collected;
  row.items = item_kind::example;
  row.rule = weights_rule::none;
  row.admission = admission_rule::batches;
  row.terminal = item_status::collected;
  row.objective = stage_objective::sft;
  row.batches = from.learner.sft_steps;
  row.samples = from.learner.sft_batch;
  return row;
}

result<stage_plan> row_of(const config& from, const std::string& name) {
  stage_plan row;
  stage_kind kind = stage_kind::eval;
  if (name != "eval-validation" && !from_string(name, kind))
    return fail(ec::invalid_config,
                fmt::format("run.stages names \"{}\"; expected one of teach, "
                            "sft, rft, rl-single, rl-multi, eval, "
                            "eval-validation",
                            name));
  row.how = training_sampling(from);
  auto how = row.how;
  switch (kind) {
  case stage_kind::teach:
  case stage_kind::rft:
    row = collecting(from, kind == stage_kind::teach);
    break;
  case stage_kind::sft:
    row = imitating(from);
    break;
  case stage_kind::rl_single:
  case stage_kind::rl_multi:
    row = reinforcing(from, kind == stage_kind::rl_multi);
    break;
  case stage_kind::eval:
    row = evaluating(from, name == "eval" ? item_source::held_out
                                          : item_source::validation);
    how.temperature = row.how.temperature;
    how.top_p = row.how.top_p;
    break;
  }
  row.how = how;
  row.name = name;
  row.kind = kind;
  return row;
}

} // namespace

result<std::vector<stage_plan>> make_plan(const config& from) {
  std::vector<stage_plan> plan;
  // SFT trains what was collected since the SFT before it, or the same again.
  std::vector<uint32_t> fresh, last;
  for (auto& name : from.run.stages) {
    auto row = row_of(from, name);
    if (!row)
      return tl::unexpected(row.error());
    if (row->terminal == item_status::collected && !row->trains())
      fresh.push_back(static_cast<uint32_t>(plan.size()));
    if (row->kind == stage_kind::sft) {
      if (!fresh.empty())
        last = std::exchange(fresh, {});
      if (last.empty())
        return fail(ec::invalid_config,
                    "run.stages has \"sft\" before any \"teach\" or \"rft\": "
                    "there is nothing to train; put one of them first");
      row->from = last;
    }
    plan.push_back(std::move(*row));
  }
  if (plan.empty())
    return fail(ec::invalid_config, "run.stages is empty; name at least one");
  return plan;
}

} // namespace swage
