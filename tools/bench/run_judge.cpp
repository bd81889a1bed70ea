#include "tools/bench/run_judge.hpp"

#include "tools/bench/run_figures.hpp"

#include <chrono>
#include <cmath>
#include <utility>

namespace swage::bench {

namespace {

using steady = std::chrono::steady_clock;

std::chrono::nanoseconds of_seconds(double s) {
  return std::chrono::nanoseconds{
    std::isfinite(s) ? static_cast<int64_t>(s * 1e9) : 0};
}

} // namespace

run_judge::run_judge(std::vector<judge_function> inside, run_timeline& times,
                     decode_gate& gate, judge_options options)
  : times_(times), gate_(gate), options_(options), free_(std::move(inside)) {
  // nop
}

verdict run_judge::judge(const verify_request& request,
                         const std::stop_token& stop) {
  if (options_.hold)
    gate_.pass(stop);
  if (options_.wait_median_s > 0)
    wait(request.id, stop);
  auto with = borrow(stop);
  if (!with) {
    verdict stopped;
    stopped.detail = "stopped while it waited";
    return stopped;
  }
  auto begin = steady::now();
  auto outcome = with(request, stop);
  give_back(std::move(with));
  note(outcome, begin);
  return outcome;
}

void run_judge::wait(uint64_t candidate, const std::stop_token& stop) {
  auto length = drawn_wait_s(options_.seed, candidate, options_.wait_median_s);
  std::unique_lock lock{mutex_};
  std::condition_variable_any never;
  never.wait_for(lock, stop, of_seconds(length), [] { return false; });
}

judge_function run_judge::borrow(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait(lock, stop, [this] { return !free_.empty(); }))
    return {};
  auto one = std::move(free_.back());
  free_.pop_back();
  return one;
}

void run_judge::give_back(judge_function one) {
  std::lock_guard lock{mutex_};
  free_.push_back(std::move(one));
  changed_.notify_one();
}

void run_judge::note(const verdict& outcome, run_timeline::time begin) {
  auto end = steady::now();
  times_.add(work::verify, begin, end);
  ++verdicts_;
  if (outcome.cached) {
    ++cached_; // Its times are those of the first one.
    return;
  }
  for (auto [what, length] : {std::pair{work::measure, outcome.times.measure_s},
                              std::pair{work::run, outcome.times.run_s},
                              std::pair{work::build, outcome.times.build_s}}) {
    auto start = end - of_seconds(length);
    times_.add(what, start, end);
    end = start;
  }
}

} // namespace swage::bench
