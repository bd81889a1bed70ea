#include "runtime/verify/measure_stand.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace swage {

namespace {

constexpr size_t cache_line = 64;

constexpr size_t max_stands = 3;
constexpr uint64_t max_kept_bytes = uint64_t{64} << 20;

/// A state up to this size is made ahead; a larger one takes its calls so long
/// that waking takes no part of it, and memory is dear.
constexpr uint64_t small_state_bytes = uint64_t{4} << 20;

/// Of inputs up to this size, each kind of stress has a case in the pool.
constexpr uint64_t small_case_bytes = uint64_t{4} << 20;

void make_cold(std::span<const std::byte> memory) {
#ifdef __SSE2__
  for (size_t at = 0; at < memory.size(); at += cache_line)
    _mm_clflush(memory.data() + at);
  _mm_mfence();
#else
  // No instruction for it: write as much as the second-level cache holds.
  auto size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  std::vector<unsigned char> other(size > 0 ? 2 * static_cast<size_t>(size)
                                            : memory.size());
  std::memset(other.data(), 1, other.size());
  asm volatile("" : : "r"(other.data()) : "memory");
#endif
}

void bring_near(std::span<const std::byte> memory) {
  unsigned sum = 0;
  for (size_t at = 0; at < memory.size(); at += cache_line)
    sum += static_cast<unsigned>(memory[at]);
  asm volatile("" : : "r"(sum));
}

result<void> make(std::optional<shared_memory>& to, const case_layout& layout,
                  uint32_t cases) {
  auto made = shared_memory::create(layout, cases);
  if (!made)
    return tl::unexpected{made.error()};
  to.emplace(std::move(*made));
  return {};
}

} // namespace

timing_stand::timing_stand(const signature& args)
  : args_{args}, layout_{lay_out(args)},
    pool_layout_{lay_out({args.inputs, {}, {}})},
    results_layout_{lay_out({{}, {}, args.outputs})} {
}

result<std::unique_ptr<timing_stand>>
timing_stand::open(const draw_tools& tools, uint32_t pool_cases) {
  std::unique_ptr<timing_stand> made{new timing_stand{tools.what.args}};
  made->state_ = tools.seeds.next();
  made->stress_turn_ = tools.seeds.next();
  if (auto done = made->allocate(tools.what, pool_cases); !done)
    return tl::unexpected{done.error()};
  if (auto done = made->draw_state(tools); !done)
    return tl::unexpected{done.error()};
  return made;
}

result<void> timing_stand::allocate(const judged_task& what,
                                    uint32_t pool_cases) {
  drawn_cases_ = pool_cases;
  if (can_mix(what) && !what.stress.empty()) {
    auto count = pool_layout_.bytes <= small_case_bytes ? what.stress.size() : 1;
    for (size_t i = 0; i < count; ++i)
      stressed_.push_back(
        what.stress[(stress_turn_ + i) % what.stress.size()]);
  }
  auto cases = stressed_case(static_cast<uint32_t>(stressed_.size()));
  if (auto done = make(pool_, pool_layout_, cases); !done)
    return done;
  // All cases but the first are addresses without memory.
  if (auto done = make(memory_, layout_, timed_process::reference_cases); !done)
    return done;
  return make(results_, results_layout_, 1);
}

/// A module draws its own from the same seed, and then takes what lies in
/// memory.
result<void> timing_stand::draw_state(const draw_tools& tools) {
  judge_case one;
  one.seed = tools.seeds.next();
  one.state = state_;
  auto done = tools.judge.draw(tools.what, {&one, 1},
                               {memory_->fd(), &layout_});
  if (!done)
    return done;
  uint64_t bytes = 0;
  const auto& origins = tools.what.free_state;
  for (size_t i = 0; i < std::min(origins.size(), args_.state.size()); ++i)
    if (auto origin = static_cast<size_t>(origins[i]); origins[i] >= 0) {
      auto drawn = memory_->state(0, i);
      free_state_.push_back({i, origin, {}, {}});
      if (origin == i)
        free_state_.back().drawn.assign(drawn.begin(), drawn.end());
      bytes += drawn.size();
    }
  state_is_small_ = bytes <= small_state_bytes;
  for (auto& one : free_state_)
    if (state_is_small_)
      one.next.resize(one.drawn.size());
  return {};
}

result<void> timing_stand::fill(const draw_tools& tools) {
  std::vector<judge_case> cases(drawn_cases());
  for (uint32_t i = 0; i < drawn_cases(); ++i) {
    cases[i].seed = tools.seeds.next();
    cases[i].which = i;
  }
  for (uint32_t i = 0; i < stressed_.size(); ++i) {
    cases.emplace_back().seed = tools.seeds.next();
    cases.back().kind = stressed_[i];
    cases.back().which = stressed_case(i);
  }
  auto done = tools.judge.draw(tools.what, cases, {pool_->fd(), &pool_layout_},
                               {.state = false});
  if (done) {
    unused_ = drawn_cases();
    filled_ = true;
    if (can_mix(tools.what))
      look_at_habits();
  }
  return done;
}

void timing_stand::look_at_habits() {
  habits_.clear();
  for (size_t i = 0; i < args_.inputs.size(); ++i) {
    std::vector<std::span<const std::byte>> draws;
    for (uint32_t which = 0; which < drawn_cases(); ++which)
      draws.push_back(pool_->input(which, i));
    habits_.push_back(habit_of(args_.inputs[i].type, draws));
  }
}

result<void> timing_stand::refill(const draw_tools& tools) {
  if (unused_ > 0 || (filled_ && can_mix(tools.what)))
    return {};
  return fill(tools);
}

result<void> timing_stand::next_inputs(const draw_tools& tools) {
  if (auto done = refill(tools); !done)
    return done;
  kind_ = case_kind::plain;
  if (unused_ > 0)
    present_ = drawn_cases() - unused_--;
  else
    mix_two(tools.seeds);
  return {};
}

void timing_stand::mix_two(secret_seeds& seeds) {
  auto apart = 1 + seeds.next() % (drawn_cases() - 1);
  auto first = static_cast<uint32_t>(seeds.next() % drawn_cases());
  auto second = static_cast<uint32_t>((first + apart) % drawn_cases());
  present_ = drawn_cases();
  for (size_t i = 0; i < args_.inputs.size(); ++i) {
    auto type = args_.inputs[i].type;
    auto a = pool_->input(first, i), b = pool_->input(second, i);
    auto to = pool_->input(present_, i);
    if (habits_[i].many)
      blend(a, b, to, type, habits_[i], seeds.next());
    else
      mix(a, b, to, size_of(type), seeds);
  }
}

result<void> timing_stand::next_stressed(const draw_tools& tools) {
  auto turn = stress_turn_++;
  if (stressed_.empty()) {
    const auto& kinds = tools.what.stress;
    kind_ = kinds[turn % kinds.size()];
    return draw_stressed(tools);
  }
  auto which = static_cast<uint32_t>(turn % stressed_.size());
  kind_ = stressed_[which];
  mix_two(tools.seeds);
  for (size_t i = 0; i < args_.inputs.size(); ++i)
    scatter(pool_->input(stressed_case(which), i), pool_->input(present_, i),
            size_of(args_.inputs[i].type), tools.seeds);
  return {};
}

/// In the place of a mixture; of large inputs in that of the only ones, which
/// were used.
result<void> timing_stand::draw_stressed(const draw_tools& tools) {
  if (drawn_cases() == 1)
    unused_ = 0;
  present_ = drawn_cases() == 1 ? 0 : drawn_cases();
  judge_case one;
  one.seed = tools.seeds.next();
  one.kind = kind_;
  one.which = present_;
  return tools.judge.draw(tools.what, {&one, 1}, {pool_->fd(), &pool_layout_},
                          {.state = false});
}

void timing_stand::next_state(secret_seeds& seeds) {
  if (free_state_.empty())
    return;
  state_turn_ = seeds.next();
  state_is_due_ = true;
  if (state_is_small_)
    for (auto& one : free_state_)
      vary(one.drawn, one.next, args_.state[one.index].type,
           state_turn_ + one.index);
}

void timing_stand::hand_over_state() {
  for (const auto& one : free_state_) {
    auto to = memory_->state(0, one.index);
    if (one.origin != one.index)
      std::ranges::copy(memory_->state(0, one.origin), to.begin());
    else if (state_is_small_)
      std::ranges::copy(one.next, to.begin());
    else
      vary(one.drawn, to, args_.state[one.index].type,
           state_turn_ + one.index);
  }
  state_is_due_ = false;
}

void timing_stand::hand_over() {
  for (size_t i = 0; i < args_.inputs.size(); ++i)
    std::ranges::copy(pool_->input(present_, i), memory_->input(0, i).begin());
  if (state_is_due_)
    hand_over_state();
}

void timing_stand::withdraw() {
  for (size_t i = 0; i < args_.inputs.size(); ++i)
    std::ranges::fill(memory_->input(0, i), std::byte{0});
}

void timing_stand::clear() {
  withdraw();
  memory_->poison(0);
  memory_->reset_canaries(0);
  // Nobody reads them, but a candidate may write there.
  for (uint32_t i = 1; i < memory_->cases(); ++i)
    memory_->release(i);
}

void timing_stand::poison() {
  memory_->poison(0);
  // Filling may have gone past the caches.
  for (size_t i = 0; i < args_.outputs.size(); ++i)
    bring_near(memory_->output(0, i));
}

void timing_stand::cool() {
  for (size_t i = 0; i < args_.inputs.size(); ++i)
    make_cold(memory_->input(0, i));
}

std::unique_ptr<timing_stand> stand_rack::take(const std::string& key) {
  for (auto i = stands_.begin(); i != stands_.end(); ++i)
    if (i->key == key) {
      auto found = std::move(i->stand);
      stands_.erase(i);
      return found;
    }
  return nullptr;
}

void stand_rack::keep(const std::string& key,
                      std::unique_ptr<timing_stand> used) {
  if (used->bytes() > max_kept_bytes)
    return;
  used->clear();
  stands_.push_front({key, std::move(used)});
  if (stands_.size() > max_stands)
    stands_.pop_back();
}

} // namespace swage
