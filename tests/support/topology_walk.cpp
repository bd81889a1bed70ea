#include "tests/support/topology_walk.hpp"

#include <caf/action.hpp>
#include <caf/scheduled_actor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace swage::test {

namespace {

constexpr double longest_s = 3000;       ///< Of virtual time.
constexpr uint64_t most_jobs = 4'000'000; ///< More is going round in circles.
constexpr double goodbye_s = 20; ///< The others end so soon after the head.
constexpr double standstill_s = 20; ///< Longer than any request and retry.

} // namespace

topology_walk::topology_walk(topology_plan plan,
                             const std::filesystem::path& folder)
  : plan_(std::move(plan)), folder_(folder), draw_(plan_.seed) {
  trace_.whole = std::getenv("SWAGE_WALK_TRACE") != nullptr;
  auto broken = [this](const std::string& what) { refuse(what); };
  journal_ = std::make_shared<checked_journal>(plan_.settings, broken);
  oracle_ = std::make_unique<training_oracle>(*journal_, broken);
  net_ = std::make_unique<virtual_network>(
    sim_.sys, [this](const passage& one) { return decide(one); }, broken);
  net_->reachable = [this](uint32_t a, uint32_t b) {
    return !unreachable_.contains(std::minmax(a, b));
  };
  lingers_ = draw_.chance(0.5);
}

topology_walk::~topology_walk() {
  for (auto& one : processes_)
    if (one->alive)
      kill(*one);
  net_.reset();
}

topology_counts topology_walk::run() {
  const auto nodes = std::max<size_t>(1, plan_.settings.cluster.nodes.size());
  for (size_t i = 0; i < nodes; ++i)
    at(draw_.between(0, 0.5), [this, i] { start(i); });
  at(0.6, [this] { look(); });
  if (plan_.faults.blows > 0)
    plan_blow();
  auto all_ended = [this] {
    return head_ended_ >= 0
           && std::none_of(processes_.begin(), processes_.end(),
                           [](auto& x) { return x->alive && !x->finished; });
  };
  while (violation_.empty() && !all_ended()) {
    turn();
    supervise();
    check_time();
  }
  if (violation_.empty())
    check_end();
  if (!violation_.empty())
    throw walk_failed(violation_, trace_.text());
  count_end();
  return counts_;
}

double topology_walk::now() {
  return std::chrono::duration<double>(
           sim_.scheduler().clock().current_time.time_since_epoch())
    .count();
}

/// The next thing: something that is due, or the job that is done first.
void topology_walk::turn() {
  auto& clock = sim_.scheduler().clock();
  auto& jobs = sim_.scheduler().jobs;
  size_t first = jobs.size();
  auto soonest = std::numeric_limits<double>::max();
  for (size_t i = 0; i < jobs.size(); ++i) {
    auto [found, fresh] = waiting_.try_emplace(jobs[i]);
    auto& one = found->second;
    if (fresh) {
      auto* who = dynamic_cast<caf::scheduled_actor*>(jobs[i]);
      one.of = who ? find(net_->process_of(who->id())) : nullptr;
      one.ready = now();
      if (one.of && one.of->alive) {
        auto known = one.of->works.find(who->id());
        one.ready += cost(known == one.of->works.end() ? work::slot
                                                       : known->second,
                          *one.of);
      }
    }
    auto ready = one.of && one.of->alive
                   ? std::max(one.ready, one.of->paused_until)
                   : now();
    if (ready < soonest) {
      soonest = ready;
      first = i;
    }
  }
  auto due = clock.schedule.empty() ? clock_point::max()
                                    : clock.schedule.begin()->first;
  auto then = first == jobs.size() ? clock_point::max()
                                   : clock_point{seconds_of(soonest)};
  const auto next = std::max(clock.current_time, std::min(due, then));
  clock.advance_time(next - clock.current_time);
  if (first < jobs.size() && then < due)
    run_job(first);
}

void topology_walk::run_job(size_t at) {
  auto& jobs = sim_.scheduler().jobs;
  waiting_.erase(jobs[at]);
  auto begin = jobs.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(jobs.begin(), begin, begin + 1);
  sim_.scheduler().try_run_once();
  ++counts_.jobs;
}

/// How long a message takes the one who handles it.
double topology_walk::cost(work what, process& of) {
  auto& faults = plan_.faults;
  const auto stalls = what == work::slot     ? faults.slow_slot
                      : what == work::buffer ? faults.slow_disk
                                             : faults.slow_actor;
  if (!calm_ && draw_.chance(stalls))
    return stall(what, of);
  switch (what) {
  case work::light:
    return draw_.between(2e-5, 1e-4);
  case work::buffer:
    return std::max(0., buffer_held_until_ - now())
           + draw_.between(1e-4, 5e-4);
  case work::rollout:
    return draw_.between(1e-3, 3e-3);
  case work::slot:
    return draw_.exponential(0.15);
  case work::mirror:
  case work::learner:
    return draw_.between(5e-3, 6e-2);
  }
  return 0;
}

/// Longer than whoever asked will wait, mostly.
double topology_walk::stall(work what, process& of) {
  static constexpr const char* names[] = {"an actor", "the buffer", "a rollout",
                                          "a slot",   "the mirror", "the learner"};
  const auto span = what == work::slot ? draw_.between(25, 45)
                                       : draw_.between(1, 10);
  note(fmt::format("{} of {} stalls for {:.1f} s",
                   names[static_cast<size_t>(what)], of.who.name, span));
  ++counts_.stalls;
  if (of.made.head && (what == work::buffer || what == work::light))
    head_hindered_ = std::max(head_hindered_, now() + span);
  hinder(of, span);
  return span;
}

/// What it has been told, or has told, may be known so much later only.
void topology_walk::hinder(process& who, double span) {
  who.hindered_until
    = std::max(who.hindered_until,
               now() + span + plan_.settings.faults.request_timeout_s);
}

bool topology_walk::over() const {
  for (auto& one : processes_)
    if (one->alive && one->made.buffer)
      return one->made.buffer->over();
  return false;
}

/// From here on nothing goes wrong, so that what is left can be counted.
void topology_walk::begin_calm() {
  calm_ = true;
  note("all stages are over: calm");
  unreachable_.clear();
  if (memory_)
    memory_->full = false;
  for (auto& one : processes_) {
    one->paused_until = 0;
    one->dies_in_step = one->dies_in_save = false;
  }
  journal_->die_in_commit(false, nullptr);
  if (!lingers_)
    return;
  // The end waits for the buffer, the rest comes to a standstill before.
  buffer_held_until_ = now() + standstill_s;
  at(now() + 0.95 * standstill_s, [this] { check_credits(); });
}

void topology_walk::check_time() {
  if (violation_.empty() && now() > longest_s)
    refuse(fmt::format("no end after {:.0f} s of virtual time", now()));
  if (violation_.empty() && counts_.jobs > most_jobs)
    refuse(fmt::format("no end after {} jobs", counts_.jobs));
  if (head_ended_ < 0 || now() < head_ended_ + goodbye_s)
    return;
  for (auto& one : processes_) {
    if (!one->alive || one->finished)
      continue;
    if (calm_ && !one->replaced
        && std::max(one->started, one->hindered_until) < head_ended_ - 1)
      refuse(fmt::format("node {} goes on after the head has ended",
                         one->who.name));
    kill(*one);
  }
}

void topology_walk::refuse(const std::string& what) {
  if (!violation_.empty())
    return;
  violation_ = what;
  note("VIOLATION: " + what);
}

void topology_walk::note(std::string text) {
  trace_.event(now(), std::move(text));
}

void topology_walk::at(double when, std::function<void()> what) {
  // The test clock hides this function behind a member of the same name.
  caf::actor_clock& clock = sim_.scheduler().clock();
  clock.schedule(clock_point{seconds_of(when)},
                 caf::make_action(std::move(what)));
}

void topology_counts::add(const topology_counts& x) {
  messages += x.messages, lost += x.lost, twice += x.twice, late += x.late;
  jobs += x.jobs, steps += x.steps, redone += x.redone, voided += x.voided;
  killed_processes += x.killed_processes, killed_heads += x.killed_heads;
  killed_actors += x.killed_actors, crashed_commits += x.crashed_commits;
  crashed_steps += x.crashed_steps, crashed_saves += x.crashed_saves;
  cuts += x.cuts, pauses += x.pauses, full_disks += x.full_disks;
  replaced += x.replaced, restarts += x.restarts, fenced += x.fenced;
  samples += x.samples, regrants += x.regrants, repairs += x.repairs;
  stale += x.stale, evicted += x.evicted, settled += x.settled;
  credits_counted += x.credits_counted;
  stalls += x.stalls;
  virtual_s += x.virtual_s;
}

std::string topology_counts::text() const {
  return fmt::format(
    "messages {} (lost {} twice {} late {}) jobs {} virtual {:.0f} s\n"
    "deaths: processes {} heads {} actors {}, in a commit {} a step {} a save "
    "{}; cuts {} pauses {} full disks {} replaced {} stalls {} restarts {}\n"
    "steps {} redone {} voided {} fenced {} samples {} regrants {} repairs {} "
    "stale {} evicted {} credits counted {} settled {}",
    messages, lost, twice, late, jobs, virtual_s, killed_processes,
    killed_heads, killed_actors, crashed_commits, crashed_steps, crashed_saves,
    cuts, pauses, full_disks, replaced, stalls, restarts, steps, redone, voided,
    fenced, samples, regrants, repairs, stale, evicted, credits_counted, settled);
}

} // namespace swage::test
