#include "actors/compute.hpp"

#include <utility>

namespace swage {

void measure_gate::measuring(bool begins) {
  std::unique_lock lock{mutex_};
  if (begins) {
    changed_.wait(lock, [this] { return !measuring_; });
    measuring_ = true;
  } else {
    measuring_ = false;
    changed_.notify_all();
  }
}

void measure_gate::pass(double limit_s) {
  std::unique_lock lock{mutex_};
  if (!measuring_)
    return;
  auto begin = std::chrono::steady_clock::now();
  changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                    [this] { return !measuring_; });
  paused_s_ += std::chrono::duration<double>(
                 std::chrono::steady_clock::now() - begin)
                 .count();
}

double measure_gate::paused_s() const {
  std::lock_guard lock{mutex_};
  return paused_s_;
}

busy_scope::busy_scope(progress_counter& counter)
  : counter_(counter), begin_(std::chrono::steady_clock::now()) {
  counter_.working = true;
}

busy_scope::~busy_scope() {
  auto spent = std::chrono::steady_clock::now() - begin_;
  counter_.busy_ns
    += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  ++counter_.count;
  counter_.working = false;
}

std::shared_ptr<progress_counter> progress_board::add(std::string kind,
                                                      uint32_t actor) {
  auto counter = std::make_shared<progress_counter>();
  counter->kind = std::move(kind);
  counter->actor = actor;
  std::lock_guard lock{mutex_};
  counters_.push_back(counter);
  return counter;
}

std::vector<std::shared_ptr<const progress_counter>>
progress_board::all() const {
  std::lock_guard lock{mutex_};
  return {counters_.begin(), counters_.end()};
}

} // namespace swage
