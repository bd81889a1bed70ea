#include "world.hpp"

#include <fmt/format.h>

namespace swage::test {

namespace {

constexpr uint64_t longest = 60000;

} // namespace

world::world(const walk& how) : how_(how), random_(how.seed) {
  config_ = small_config(
    how.long_plan
      ? std::vector<std::string>{"teach", "sft", "rft", "sft",
                                 "eval-validation", "rl-single", "rl-multi",
                                 "eval"}
      : std::vector<std::string>{"teach", "sft", "rl-single", "eval"});
  config_.run.seed = how.seed;
  config_.rollout.group_size = 2 + static_cast<uint32_t>(below(2));
  config_.buffer.groups_per_batch = how.groups_per_batch;
  config_.buffer.max_staleness = how.max_staleness;
  config_.buffer.staleness_policy = chance(0.5) ? "wait" : "drop";
  config_.buffer.dynamic_sampling = chance(0.7);
  config_.buffer.retry_probability = chance(0.3) ? 0 : 0.5;
  config_.buffer.retry_capacity = 1 + static_cast<uint32_t>(below(3));
  config_.buffer.retry_depth = 1 + static_cast<uint32_t>(below(2));
  config_.buffer.max_attempts = 8;
  config_.buffer.eval_concurrency = 2;
  config_.buffer.max_buffered_bytes = chance(0.3) ? 1000 : 1'000'000;
  config_.learner.steps = 3 + static_cast<uint32_t>(below(5));
  tasks_ = small_sets();
  if (chance(0.3))
    deadly_ = 1 + below(6);
  disk_.push_back({});
  for (uint32_t i = 0; i < 3; ++i)
    workers_.push_back({{"node" + std::to_string(i), incarnation_, 0}, {}});
  open();
}

world::~world() = default;

bool world::chance(double p) {
  return std::uniform_real_distribution<>(0, 1)(random_) < p;
}

uint64_t world::below(uint64_t n) {
  return random_() % n;
}

void world::open() {
  if (!how_.run_db.empty()) {
    auto opened = sqlite_journal::open(how_.run_db);
    require(opened.has_value(), "run.db cannot be opened");
    journal_ = std::move(*opened);
  } else if (!memory_) {
    journal_ = memory_ = std::make_shared<memory_journal>();
  }
  auto opened = buffer_core::open(journal_, config_, tasks_, now_);
  require(opened.has_value(),
          opened ? "" : "cannot be opened: " + opened.error().message);
  core_ = std::move(*opened);
}

void world::restart() {
  ++counts_.crashes;
  for (;;) {
    core_.reset();
    journal_.reset();
    if (memory_) {
      memory_->recover();
      memory_->full = false;
      journal_ = memory_;
      if (chance(0.1))
        memory_->crash_at(1 + below(4), chance(0.5));
    }
    try {
      open();
      if (memory_)
        memory_->crash_at(0);
      break;
    } catch (const journal_crash&) {}
  }
  refresh();
  check_now();
}

bool world::deliver(const std::function<void()>& event) {
  try {
    if (memory_ && chance(0.02))
      memory_->crash_at(1 + below(5), chance(0.5));
    event();
    auto ok = core_->flush();
    if (memory_)
      memory_->crash_at(0);
    refresh();
    if (!ok) {
      ++counts_.full;
      return false;
    }
    return true;
  } catch (const journal_crash&) {
    restart();
    return false;
  }
}

void world::let_time_pass() {
  now_ += std::exponential_distribution<>(1.0)(random_);
  if (now_ - last_tick_ < 1)
    return;
  // Sometimes nobody ticks for longer than any lease lives.
  if (chance(0.02))
    now_ += 100;
  last_tick_ = now_;
  deliver([&] { core_->tick(now_); });
}

void world::step() {
  ++counts_.events;
  let_time_pass();
  if (memory_) {
    if (memory_->full ? chance(0.1) : chance(0.002))
      memory_->full = !memory_->full;
    memory_->commit_s = chance(0.01) ? 10 : 0;
  }
  auto what = below(1000);
  if (what < 250)
    ask_for_work();
  else if (what < 500)
    finish_sample();
  else if (what < 760)
    receive_sample();
  else if (what < 980)
    move_learner();
  else if (what < 987)
    lose_worker();
  else if (what < 991)
    lose_learner();
  else if (what < 997)
    zombie_speaks();
  else
    restart();
  if (counts_.events % 8 == 0)
    check_now();
}

walk_counts world::run() {
  while (!core_->over()) {
    step();
    if (counts_.events > longest)
      throw violation(fmt::format("no end after {} events: waits for {}",
                                  longest, core_->progress(now_).waiting_for));
  }
  if (memory_)
    memory_->full = false;
  check_now();
  check_end();
  retrain_everything();
  return counts_;
}

} // namespace swage::test
