#include "runtime/buffer/buffer_core.hpp"

#include "runtime/buffer/hash_chain.hpp"
#include "runtime/buffer/seeded.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <set>

namespace swage {

namespace {

// Streams of the run's seed.
constexpr uint64_t task_stream = 101, example_stream = 102;

uint64_t hash_of(const std::vector<task>& tasks) {
  uint64_t sum = 0;
  for (auto& one : tasks)
    sum = mix({sum, XXH3_64bits(one.id.data(), one.id.size()),
               XXH3_64bits(one.reference.data(), one.reference.size())});
  return sum;
}

std::string text_of(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

/// What the journal's contents depend on. Knobs that may change between two
/// parts of a run (steps, bounds, limits) are not among them.
std::map<std::string, std::string> fingerprint(const config& how,
                                               const task_sets& tasks) {
  std::string stages, weights;
  for (auto& name : how.run.stages)
    stages += (stages.empty() ? "" : " ") + name;
  for (auto weight : how.tasks.level_weights)
    weights += fmt::format("{}{}", weights.empty() ? "" : " ", weight);
  return {
    {"run.stages", stages},
    {"run.seed", std::to_string(how.run.seed)},
    {"tasks.level_weights", weights},
    {"tasks.taught", std::to_string(how.tasks.taught)},
    {"tasks.solutions_per_task", std::to_string(how.tasks.solutions_per_task)},
    {"rollout.group_size", std::to_string(how.rollout.group_size)},
    {"rollout.eval_samples", std::to_string(how.rollout.eval_samples)},
    {"learner.sft_batch", std::to_string(how.learner.sft_batch)},
    {"training tasks", text_of(hash_of(tasks.train))},
    {"validation tasks", text_of(hash_of(tasks.validation))},
    {"held-out tasks", text_of(hash_of(tasks.held_out))}};
}

} // namespace

buffer_core::buffer_core(std::shared_ptr<journal> where, const config& how,
                         task_sets tasks, std::vector<stage_plan> plan)
  : journal_(std::move(where)), how_(how), tasks_(std::move(tasks)),
    plan_(std::move(plan)), book_(*journal_) {
  for (auto* set : {&tasks_.train, &tasks_.validation, &tasks_.held_out})
    for (auto& one : *set)
      by_id_.emplace(one.id, &one);
}

result<std::unique_ptr<buffer_core>>
buffer_core::open(std::shared_ptr<journal> where, const config& how,
                  task_sets tasks, double now) {
  auto plan = make_plan(how);
  if (!plan)
    return tl::unexpected(plan.error());
  std::unique_ptr<buffer_core> core(
    new buffer_core(std::move(where), how, std::move(tasks), std::move(*plan)));
  if (auto ok = core->check_tasks(); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = core->book_.load(); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = core->check_fingerprint(); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = core->check_chain(); !ok)
    return tl::unexpected(ok.error());
  // Lease ids of an earlier process must never fit an item of this one.
  auto& meta = core->book_.meta();
  auto found = meta.find("openings");
  auto opening = 1 + (found == meta.end() ? 0 : std::stoull(found->second));
  core->book_.set_meta("openings", std::to_string(opening));
  if (meta.contains("ended"))
    core->book_.set_meta("ended", "");
  core->leases_.begin_at(opening << 32);
  core->rebuild_sources();
  core->since_ = core->stage_began_ = now;
  core->advance(now);
  core->done_at_begin_ = core->progress(now).done;
  if (auto ok = core->flush(); !ok)
    return tl::unexpected(ok.error());
  return core;
}

result<void> buffer_core::check_tasks() const {
  size_t count = tasks_.train.size() + tasks_.validation.size()
                 + tasks_.held_out.size();
  if (by_id_.size() != count)
    return fail(
      ec::invalid_config,
      fmt::format("the task sets hold {} tasks under {} ids; ids must "
                  "be unique over training, validation and held-out",
                  count, by_id_.size()));
  for (auto& row : plan_)
    if (row.admission != admission_rule::batches && tasks_of(row).empty())
      return fail(ec::invalid_config,
                  fmt::format("stage \"{}\" has no task: its task set is empty",
                              row.name));
  return {};
}

result<void> buffer_core::check_fingerprint() {
  bool fresh = book_.meta().empty();
  for (auto& [key, value] : fingerprint(how_, tasks_)) {
    if (fresh) {
      book_.set_meta(key, value);
      continue;
    }
    auto found = book_.meta().find(key);
    if (found == book_.meta().end() || found->second != value)
      return fail(
        ec::invalid_config,
        fmt::format("this run was recorded with {} = \"{}\", now it is "
                    "\"{}\"; resume it as it was, or start another run",
                    key, found == book_.meta().end() ? "" : found->second,
                    value));
  }
  return {};
}

result<void> buffer_core::check_chain() const {
  uint64_t hash = chain_start;
  for (uint64_t step = 1; step <= book_.last_batch(); ++step) {
    auto& row = book_.batch_at(step);
    hash = row.voided ? chain_void(hash, step)
                      : chain_next(hash, step, row.members);
    if (row.step != step || row.hash != hash || row.stage >= plan_.size())
      return fail(ec::corrupt,
                  fmt::format("the journal's batch {} has hash {:016x}; its "
                              "members give {:016x}: run.db was changed or is "
                              "damaged",
                              step, row.hash, hash));
  }
  return {};
}

void buffer_core::rebuild_sources() {
  auto seed = how_.run.seed;
  drawn_.reset();
  if (!tasks_.train.empty())
    drawn_.emplace(tasks_.train, how_.tasks.level_weights,
                   mix({seed, task_stream}));
  examples_.reset();
  auto index = stage_index();
  if (index < plan_.size() && plan_[index].kind == stage_kind::sft)
    examples_.emplace(book_.examples(plan_[index].from),
                      mix({seed, example_stream, index}));
}

result<void> buffer_core::restore() {
  leases_.take_back();
  auto loaded = book_.load();
  broken_ = !loaded;
  if (loaded)
    rebuild_sources();
  return loaded;
}

result<void> buffer_core::flush() {
  if (broken_)
    return fail(ec::journal_full, journal_trouble_);
  // Nothing to commit proves nothing about a journal that failed.
  if (!journal_->pending())
    return {};
  auto took = journal_->commit();
  if (took) {
    leases_.keep();
    journal_fails_ = false;
    // A slow disk holds up whoever waits for a reply; more work would too.
    constexpr double slow_commit_s = 2;
    journal_trouble_ = *took <= slow_commit_s
                         ? ""
                         : fmt::format("the journal is slow: the last "
                                       "transaction took {:.1f} s",
                                       *took);
    return {};
  }
  journal_fails_ = true;
  journal_trouble_ = took.error().message;
  ++revision_;
  if (auto again = restore(); !again)
    journal_trouble_ += "; " + again.error().message;
  return tl::unexpected(took.error());
}

void buffer_core::tick(double now) {
  leases_.tick(now, tick_interval_s);
  ++revision_;
  if (broken_ && !restore())
    return;
  if (!journal_trouble_.empty())
    book_.set_meta("probe", fmt::format("{:.0f}", now));
  advance(now);
}

} // namespace swage
