#include "fixture.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace swage::test {

const owner bench::rollout{"a", 1, 0};
const owner bench::other{"b", 1, 0};
const owner bench::learner{"c", 1, 0};

config small_config(std::vector<std::string> stages) {
  config how;
  how.run.stages = std::move(stages);
  how.run.keep_last = 2;
  how.tasks.level_weights = {0.5, 0.5};
  how.tasks.solutions_per_task = 2;
  how.rollout.group_size = 2;
  how.rollout.eval_samples = 2;
  how.rollout.max_turns = 3;
  how.buffer.groups_per_batch = 2;
  how.buffer.max_staleness = 1;
  how.buffer.retry_probability = 0;
  how.learner.steps = 4;
  how.learner.sft_steps = 3;
  how.learner.sft_batch = 2;
  return how;
}

task_sets small_sets() {
  return {some_tasks("train", 4), some_tasks("valid", 2),
          some_tasks("held", 2)};
}

trajectory sample(uint64_t item, uint32_t index, double score,
                  uint64_t version) {
  turn one;
  one.prompt = {1, 2, 3};
  one.response = {4, 5};
  one.logprobs = {-0.5f, -0.25f};
  one.versions = {{version, 2}};
  one.text = fmt::format("kernel {} {}", item, index);
  one.score = score;
  auto& out = one.outcome;
  bool ok = score >= 1;
  out.compiled = true;
  out.correct = out.legal = ok;
  out.speedup = ok ? 1 + 2 * (score - 1) : -1;
  out.kind = ok            ? category::ok
             : score <= -1 ? category::compile_compiler
                           : category::correctness_tolerance;
  out.detail = "detail";
  one.feedback = ok ? "" : "feedback";
  trajectory whole;
  whole.item = item;
  whole.index = index;
  whole.turns.push_back(std::move(one));
  whole.ret = score;
  return whole;
}

trajectory infra_sample(uint64_t item, uint32_t index) {
  auto whole = sample(item, index, -1);
  whole.turns[0].outcome.kind = category::infra_timeout;
  return whole;
}

bench::bench(config with, task_sets tasks)
  : how(std::move(with)), sets(std::move(tasks)),
    journal(std::make_shared<memory_journal>()) {
  restart();
}

void bench::restart() {
  core.reset();
  journal->recover();
  auto opened = buffer_core::open(journal, how, sets, now);
  if (!opened)
    throw std::runtime_error(opened.error().message);
  core = std::move(*opened);
}

std::vector<grant> bench::take(uint32_t want, const owner& who) {
  auto reply = core->sync({who, held[who], want, 0}, now);
  if (!core->flush())
    return {};
  for (auto id : reply.cancelled)
    std::erase(held[who], id);
  for (auto& one : reply.grants)
    held[who].push_back(one.lease);
  return reply.grants;
}

submit_status bench::give(const grant& from, trajectory what,
                          const owner& who) {
  auto status = core->submit(who, from.lease, what, now);
  return core->flush() ? status : submit_status::journal_full;
}

void bench::finish(const grant& from, std::vector<double> scores,
                   uint64_t version) {
  size_t at = 0;
  for (auto index : from.missing)
    give(from, sample(from.work.id, index, scores[at++ % scores.size()],
                      std::max(version, from.version)));
  std::erase(held[rollout], from.lease);
}

uint64_t bench::attach() {
  auto reply = core->attach(learner, now);
  if (!reply || !core->flush())
    throw std::runtime_error("attach failed");
  return epoch = reply->epoch;
}

next_reply bench::next(uint64_t after) {
  auto reply = core->next_batch(epoch, after, now);
  if (auto ok = core->flush(); !ok)
    throw std::runtime_error(ok.error().message);
  return reply;
}

result<void> bench::commit(uint64_t step) {
  step_report report;
  report.step = step;
  report.stepped = true;
  auto done = core->commit(epoch, report, now);
  if (!done)
    return done;
  return core->flush();
}

batch bench::train() {
  auto reply = next(trained);
  if (reply.status != next_status::ready)
    throw std::runtime_error("no batch to train: "
                             + core->progress(now).waiting_for);
  if (auto ok = commit(reply.what.step); !ok)
    throw std::runtime_error(ok.error().message);
  trained = reply.what.step;
  return reply.what;
}

} // namespace swage::test
