#include "actors/compute.hpp"

#include <algorithm>
#include <utility>

namespace swage {

void measure_gate::measuring(bool begins) {
  std::unique_lock lock{mutex_};
  if (begins) {
    changed_.wait(lock, [this] { return !measuring_; });
    measuring_ = true;
    return;
  }
  measuring_ = false;
  changed_.notify_all();
  auto freed = std::exchange(waiting_, {});
  for (auto& one : freed)
    count(one);
  lock.unlock();
  for (auto& one : freed)
    one.when_free();
}

bool measure_gate::pass(const void* who, std::function<void()> when_free) {
  std::lock_guard lock{mutex_};
  if (measuring_)
    waiting_.push_back(
      {who, std::move(when_free), std::chrono::steady_clock::now()});
  return !measuring_;
}

bool measure_gate::leave(const void* who) {
  std::lock_guard lock{mutex_};
  auto i = std::find_if(waiting_.begin(), waiting_.end(),
                        [who](auto& one) { return one.who == who; });
  if (i == waiting_.end())
    return false;
  count(*i);
  waiting_.erase(i);
  return true;
}

void measure_gate::count(const waiting& one) {
  auto waited = std::chrono::steady_clock::now() - one.since;
  paused_s_ += std::chrono::duration<double>(waited).count();
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
