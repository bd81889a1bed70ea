#include "tools/bench/run_watch.hpp"

#include "runtime/buffer/schema.hpp"

#include <algorithm>

namespace swage::bench {

run_watch::run_watch(std::filesystem::path run, const config& settings)
  : file_(std::move(run) / "run.db") {
  for (auto& name : settings.run.stages) {
    stage one{name, false, 0};
    if (name == "sft")
      one = {name, true, settings.learner.sft_steps};
    else if (name.starts_with("rl-"))
      one = {name, true, settings.learner.steps};
    else if (name == "teach")
      one.total = uint64_t{settings.tasks.taught ? settings.tasks.taught
                                                 : settings.tasks.train}
                  * settings.tasks.solutions_per_task;
    else
      one.total = uint64_t{settings.tasks.held_out}
                  * settings.rollout.eval_samples;
    stages_.push_back(std::move(one));
  }
}

uint64_t run_watch::number(const char* sql,
                           std::initializer_list<sqlite::value> with,
                           uint64_t none) {
  std::error_code failed;
  if (!db_ && std::filesystem::exists(file_, failed))
    if (auto opened = sqlite::database::open(file_, sqlite::access::read))
      db_.emplace(std::move(*opened));
  if (!db_)
    return none;
  auto out = none;
  auto ok = db_->query(sql, with, [&](auto& row) {
    if (!row.null(0))
      out = row.number(0);
  });
  // Half made, or its writer died: asked anew with a fresh connection.
  if (!ok)
    db_.reset();
  return out;
}

bool run_watch::has_journal() {
  return number("PRAGMA user_version", {}, 0) == journal_schema;
}

uint64_t run_watch::openings() {
  return number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = "
                "'openings'",
                {}, 0);
}

double run_watch::position() {
  auto begun = number("SELECT count(*) FROM stage", {}, 0);
  if (begun == 0)
    return 0;
  auto index = begun - 1;
  if (number("SELECT over FROM stage WHERE idx = ?", {index}, 0) != 0)
    return static_cast<double>(begun);
  auto& one = stages_[std::min<size_t>(index, stages_.size() - 1)];
  auto done = one.trains
                ? number("SELECT count(*) FROM batch WHERE stage = ?", {index},
                         0)
                : number("SELECT count(*) FROM item i JOIN sample s ON s.item "
                         "= i.id WHERE i.stage = ?",
                         {index}, 0);
  auto share = static_cast<double>(done)
               / static_cast<double>(std::max<uint64_t>(one.total, 1));
  return static_cast<double>(index) + std::min(share, 0.999);
}

std::string run_watch::stage_at(double position) const {
  auto index = static_cast<size_t>(position);
  return index < stages_.size() ? stages_[index].name : "end";
}

} // namespace swage::bench
