#include "runtime/verify/measure_stand.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace swage {

namespace {

constexpr size_t cache_line = 64;

constexpr size_t max_stands = 3;
constexpr uint64_t max_kept_bytes = uint64_t{64} << 20;

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

/// Copies each element from one of two inputs, as the seeds say.
/// @pre The three are of one size; elements have 1, 2, 4 or 8 bytes.
void mix(std::span<const std::byte> first, std::span<const std::byte> second,
         std::span<std::byte> to, size_t element, secret_seeds& seeds) {
  // A word at a time; a choice for each of its elements is an index here.
  auto in_word = sizeof(uint64_t) / element;
  auto choices = size_t{1} << in_word;
  auto one = ~uint64_t{0} >> (64 - 8 * element);
  std::array<uint64_t, 256> masks{};
  for (size_t choice = 0; choice < choices; ++choice)
    for (size_t i = 0; i < in_word; ++i)
      if ((choice >> i & 1) != 0)
        masks[choice] |= one << 8 * element * i;
  uint64_t bits = 0;
  size_t left = 0;
  auto mix_word = [&](size_t at, size_t size) {
    if (left < in_word) {
      bits = seeds.next();
      left = 64;
    }
    uint64_t a = 0, b = 0;
    std::memcpy(&a, first.data() + at, size);
    std::memcpy(&b, second.data() + at, size);
    a ^= (a ^ b) & masks[bits & (choices - 1)];
    std::memcpy(to.data() + at, &a, size);
    bits >>= in_word;
    left -= in_word;
  };
  // A size that the compiler knows makes this five times faster.
  constexpr auto word = sizeof bits;
  auto whole = to.size() / word * word;
  for (size_t at = 0; at < whole; at += word)
    mix_word(at, word);
  if (whole < to.size())
    mix_word(whole, to.size() - whole);
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
  if (auto done = made->allocate(pool_cases); !done)
    return tl::unexpected{done.error()};
  if (auto done = made->draw_state(tools); !done)
    return tl::unexpected{done.error()};
  return made;
}

result<void> timing_stand::allocate(uint32_t pool_cases) {
  if (auto done = make(pool_, pool_layout_, pool_cases + 1); !done)
    return done;
  // All cases but the first are addresses without memory.
  if (auto done = make(memory_, layout_, timed_process::reference_cases); !done)
    return done;
  return make(results_, results_layout_, 1);
}

/// One state for all calls. A module draws its own from the same seed.
result<void> timing_stand::draw_state(const draw_tools& tools) {
  judge_case one;
  one.seed = tools.seeds.next();
  one.state = state_;
  return tools.judge.draw(tools.what, {&one, 1}, {memory_->fd(), &layout_});
}

result<void> timing_stand::fill(const draw_tools& tools) {
  std::vector<judge_case> cases(drawn_cases());
  for (uint32_t i = 0; i < drawn_cases(); ++i) {
    cases[i].seed = tools.seeds.next();
    cases[i].which = i;
  }
  auto done = tools.judge.draw(tools.what, cases, {pool_->fd(), &pool_layout_},
                               {.state = false});
  if (done) {
    unused_ = drawn_cases();
    filled_ = true;
  }
  return done;
}

result<void> timing_stand::refill(const draw_tools& tools) {
  if (unused_ > 0 || (filled_ && can_mix(tools.what)))
    return {};
  return fill(tools);
}

result<void> timing_stand::next_inputs(const draw_tools& tools) {
  if (auto done = refill(tools); !done)
    return done;
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
  for (size_t i = 0; i < args_.inputs.size(); ++i)
    mix(pool_->input(first, i), pool_->input(second, i),
        pool_->input(present_, i), size_of(args_.inputs[i].type), seeds);
}

void timing_stand::hand_over() {
  for (size_t i = 0; i < args_.inputs.size(); ++i)
    std::ranges::copy(pool_->input(present_, i), memory_->input(0, i).begin());
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
