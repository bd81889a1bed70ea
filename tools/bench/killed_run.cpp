#include "tools/bench/killed_run.hpp"

#include "tools/bench/fixture.hpp"
#include "tools/bench/leftovers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

namespace swage::bench {

namespace {

constexpr double longest_wait_s = 600; // For a moment, or for the run's end.
// A Python that imports LibTorch sees the end of its socket only afterwards,
// which takes long on a busy machine.
constexpr double most_orphan_s = 60;
constexpr double look_interval_s = 0.1;

void pause(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

killed_run::killed_run(killed_run_options how)
  : how_(std::move(how)), watch_(run(), how_.settings),
    segments_(shared_segments()) {
  adopt_orphans();
  std::filesystem::create_directories(temporary());
  start();
}

void killed_run::start() {
  train_command command;
  command.program = how_.program;
  command.arguments = {how_.file.string(), "--out", run().string()};
  for (auto& knob : how_.knobs)
    command.arguments.insert(command.arguments.end(), {"--set", knob});
  if (std::filesystem::exists(run() / "run.db"))
    command.arguments.push_back("--resume");
  command.output = how_.folder / "train.out";
  command.errors = how_.folder / "train.err";
  command.environment = {"TMPDIR=" + temporary().string()};
  command.parent_death = SIGKILL;
  process_ = std::make_unique<train_process>(command);
}

/// A node runs, and the moment of the kill has come.
bool killed_run::has_come(const planned_kill& what) {
  if (!process_->node())
    return false;
  if (what.when == moment::start_up)
    return true;
  return watch_.openings() > openings_at_start_ && watch_.position() >= what.at
         && (what.when == moment::progress || is_torn(run()));
}

/// False if the run ends before the moment comes.
bool killed_run::await(const planned_kill& what) {
  auto start = steady::now();
  auto delay_s = what.delay_s;
  for (;;) {
    while (!has_come(what)) {
      if (process_->poll())
        return false;
      look_at_orphans();
      give_up_after(longest_wait_s, start, what.at);
      pause(what.when == moment::checkpoint ? 0.001 : 0.005);
    }
    if (what.when == moment::start_up)
      await_start(delay_s);
    else
      pause(delay_s);
    if (what.when != moment::checkpoint || is_torn(run()))
      return !process_->poll();
    // It was whole by then: the next one, a little earlier.
    delay_s /= 2;
  }
}

/// Not longer than the start takes: a short rest of a run would be over soon.
void killed_run::await_start(double limit_s) {
  auto start = steady::now();
  while (since(start) < limit_s && watch_.openings() <= openings_at_start_)
    pause(0.005);
}

void killed_run::give_up_after(double limit_s, steady::time_point start,
                               double at) {
  if (since(start) > limit_s)
    give_up(3, fmt::format("the run is at {:.2f} and does not come to {:.2f} "
                           "in {:.0f} s; see {}",
                           watch_.position(), at, limit_s,
                           (how_.folder / "train.err").string()));
}

std::string killed_run::stage_now() {
  if (is_torn(run()))
    return "checkpoint";
  if (watch_.openings() == openings_at_start_)
    return "start-up";
  return watch_.stage_at(watch_.position());
}

/// Returns once the node is gone.
void killed_run::strike(victim whom) {
  auto node = process_->node().value_or(-1);
  if (whom != victim::node)
    process_->kill();
  if (whom != victim::parent && node > 0)
    ::kill(node, SIGKILL);
  if (whom != victim::node)
    while (!process_->poll())
      pause(0.001);
  while (node > 0 && descendants(process_->pid()).contains(node))
    pause(0.001);
}

/// What descends from this process is of the node that dies now.
void killed_run::mark_orphans() {
  for (auto& [pid, line] : descendants(process_->pid()))
    if (pid != process_->pid())
      orphans_.try_emplace(pid, line, steady::now());
}

/// Notes which of them have ended by now, and ends those that do not.
void killed_run::look_at_orphans() {
  if (orphans_.empty() || since(looked_) < look_interval_s)
    return;
  looked_ = steady::now();
  auto now = descendants(process_->pid());
  std::erase_if(orphans_, [&](auto& one) {
    auto& [pid, what] = one;
    auto age = since(what.since);
    longest_orphan_s_ = std::max(longest_orphan_s_, age);
    if (!now.contains(pid))
      return true;
    if (age < most_orphan_s)
      return false;
    faults_.push_back(fmt::format("process {} ({}) still runs {:.0f} s after "
                                  "its node was killed",
                                  pid, what.line, age));
    ::kill(pid, SIGKILL);
    return true;
  });
}

bool killed_run::kill(const planned_kill& what) {
  if (!await(what))
    return false;
  mark_orphans();
  done_kill done;
  done.whom = what.whom;
  done.at = watch_.position();
  strike(what.whom);
  // A parent that is left starts another node soon.
  done.stage = stage_now();
  done.openings = openings_at_start_ = watch_.openings();
  kills_.push_back(done);
  audit();
  tell(kills_.back());
  if (what.whom != victim::node)
    start();
  return true;
}

void killed_run::tell(const done_kill& done) const {
  auto groups = count_groups(facts_);
  fmt::print(stderr,
             "kill {}: {} in {} at {:.2f}; {} batches, groups {} trained, {} "
             "waiting, {} discarded\n",
             kills_.size(), to_string(done.whom), done.stage, done.at,
             facts_.batches.size(), groups.trained, groups.waiting,
             groups.discarded);
}

void killed_run::audit() {
  if (!watch_.has_journal())
    return;
  auto now = value_or_exit(read_facts(run()));
  note(find_faults(now));
  note(find_losses(facts_, now));
  facts_ = std::move(now);
}

void killed_run::finish() {
  auto start = steady::now();
  while (!process_->poll()) {
    look_at_orphans();
    give_up_after(longest_wait_s, start,
                  static_cast<double>(how_.settings.run.stages.size()));
    pause(0.02);
  }
  if (auto code = *process_->poll(); code != 0)
    faults_.push_back(fmt::format("swage train ended with {}; see {}", code,
                                  (how_.folder / "train.err").string()));
  mark_orphans();
  while (!orphans_.empty()) {
    look_at_orphans();
    pause(look_interval_s);
  }
  audit();
  check_end();
}

void killed_run::check_end() {
  auto& settings = how_.settings;
  note(find_unfinished(
    facts_, {settings.run.stages.size(),
             uint64_t{settings.learner.sft_steps} + settings.learner.steps,
             settings.tasks.held_out, settings.run.keep_last}));
  auto table = content(how_.folder / "train.out");
  for (auto* part : {"after teaching", "after reinforcement learning"})
    if (table.find(part) == std::string::npos)
      faults_.push_back(fmt::format("the final table has no row \"{}\"", part));
  if (content(how_.folder / "train.err").find("failed with exit code")
      != std::string::npos)
    faults_.push_back(fmt::format("a node ended that nobody had killed; see {}",
                                  (how_.folder / "train.err").string()));
  for (auto& path : stray_files(run(), temporary()))
    faults_.push_back("left behind: " + path);
  for (auto& name : shared_segments())
    if (!segments_.contains(name))
      faults_.push_back("left behind: /dev/shm/" + name);
  if (!hash_equal())
    faults_.push_back("the newest checkpoint's hash is not the journal's");
}

bool killed_run::hash_equal() const {
  auto chain = recomputed_chain(facts_);
  if (facts_.checkpoints.empty())
    return false;
  auto& newest = facts_.checkpoints.back();
  return newest.trouble.empty() && newest.step + 1 == chain.size()
         && newest.hash == chain.back();
}

void killed_run::note(std::vector<std::string> found) {
  for (auto& one : found)
    faults_.push_back(fmt::format("after {} kills: {}", kills_.size(), one));
}

} // namespace swage::bench
