#include "runtime/verify/measure_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace swage {

namespace {

constexpr size_t most_looked_at = 4096;

/// A value occurs often if it is more than this share of a sample; and at least
/// so many times.
constexpr size_t often_share = 64, often_times = 3;

/// Elements are many if that share of them occurs once.
constexpr double distinct_share = 0.9;

/// How far `blend` moves an element to the other, at most.
constexpr double blend_reach = 1.0 / 16;

/// How many elements `scatter` replaces, about: so many, doubled so many times
/// less one at most.
constexpr size_t fewest_scattered = 8;
constexpr uint64_t scattered_doublings = 4;

/// Fast, and no secret: whoever knows all that one seed made may find out the
/// seed, but not the next (splitmix64).
class quick_draws {
public:
  explicit quick_draws(uint64_t seed) : at_{seed} {
  }

  uint64_t next() {
    at_ += 0x9e37'79b9'7f4a'7c15;
    auto z = at_;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }

private:
  uint64_t at_;
};

template <class T>
T load(std::span<const std::byte> from, size_t index) {
  T value;
  std::memcpy(&value, from.data() + index * sizeof value, sizeof value);
  return value;
}

template <class T>
void store(T value, std::span<std::byte> to, size_t index) {
  std::memcpy(to.data() + index * sizeof value, &value, sizeof value);
}

/// Sorted, without NaN.
template <class Real>
std::vector<double>
sample(std::span<const std::span<const std::byte>> draws) {
  std::vector<double> out;
  for (auto draw : draws) {
    auto count = draw.size() / sizeof(Real);
    auto step = std::max<size_t>(1, count * draws.size() / most_looked_at);
    for (size_t i = 0; i < count; i += step)
      if (double value = load<Real>(draw, i); !std::isnan(value))
        out.push_back(value);
  }
  std::ranges::sort(out);
  return out;
}

value_habit habit_in(const std::vector<double>& sorted) {
  struct run {
    double value;
    size_t times;
  };
  std::vector<run> runs;
  for (auto value : sorted)
    if (runs.empty() || runs.back().value != value)
      runs.push_back({value, 1});
    else
      ++runs.back().times;
  value_habit out;
  auto rest = sorted.size();
  auto enough = std::max(often_times, sorted.size() / often_share);
  for (auto& place : out.often) {
    auto most = std::ranges::max_element(runs, {}, &run::times);
    if (most == runs.end() || most->times < enough)
      break;
    place = most->value;
    rest -= most->times;
    runs.erase(most);
  }
  auto is_whole = [](const run& x) { return std::trunc(x.value) == x.value; };
  out.many = !runs.empty()
             && static_cast<double>(runs.size())
                  >= distinct_share * static_cast<double>(rest)
             && !std::ranges::all_of(runs, is_whole);
  return out;
}

/// What `blend` makes of some elements, in loops that become vector code: a
/// branch on a drawn bit would cost more than all the rest.
template <class Real, class Bits>
struct blender {
  static constexpr size_t most = 256;
  static constexpr uint32_t side = 1 << 15;
  static constexpr auto unit = static_cast<Real>(blend_reach / side);

  Real often[2];
  quick_draws draws;
  std::array<uint16_t, most> drawn{};
  std::array<Bits, most> first{}, second{};

  void draw() {
    constexpr size_t at_once = 4;
    for (size_t i = 0; i < most; i += at_once) {
      auto bits = draws.next();
      std::memcpy(drawn.data() + i, &bits, sizeof bits);
    }
  }

  /// Into `first`.
  void blend(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto swaps = static_cast<Bits>(
        -static_cast<Bits>((drawn[i] & side) != 0 ? 1 : 0));
      auto change = static_cast<Bits>((first[i] ^ second[i]) & swaps);
      auto near_bits = static_cast<Bits>(first[i] ^ change);
      auto near = std::bit_cast<Real>(near_bits);
      auto far = std::bit_cast<Real>(static_cast<Bits>(second[i] ^ change));
      auto steps = static_cast<int32_t>(drawn[i] & (side - 1)) + 1;
      auto moved = near + (far - near) * (static_cast<Real>(steps) * unit);
      // What is not finite is no number less itself.
      bool stays = (near == often[0]) | (near == often[1])
                   | !(moved - moved == 0);
      first[i] = stays ? near_bits : std::bit_cast<Bits>(moved);
    }
  }
};

template <class Real, class Bits>
void blend_as(std::span<const std::byte> first,
              std::span<const std::byte> second, std::span<std::byte> to,
              const value_habit& habit, uint64_t seed) {
  blender<Real, Bits> work{{static_cast<Real>(habit.often[0]),
                            static_cast<Real>(habit.often[1])},
                           quick_draws{seed}};
  constexpr auto step = work.most * sizeof(Real);
  for (size_t at = 0; at < to.size(); at += step) {
    auto size = std::min(step, to.size() - at);
    std::memcpy(work.first.data(), first.data() + at, size);
    std::memcpy(work.second.data(), second.data() + at, size);
    work.draw();
    work.blend(size / sizeof(Real));
    std::memcpy(to.data() + at, work.first.data(), size);
  }
}

/// In steps of the last digit, which are as long as those of the value's power
/// of two.
template <class Bits>
void vary_as(std::span<const std::byte> from, std::span<std::byte> to,
             int fraction_bits, uint64_t seed) {
  constexpr int size = 8 * sizeof(Bits);
  auto one = Bits{1};
  auto sign = static_cast<Bits>(one << (size - 1));
  // Exponents from which a step leads to one that is a number's still.
  auto lowest = static_cast<Bits>(one << (fraction_bits + 1));
  auto highest = static_cast<Bits>(sign - lowest);
  auto range = static_cast<Bits>(one << (fraction_bits - 2));
  quick_draws draws{seed};
  uint64_t bits = 0;
  auto count = to.size() / sizeof(Bits);
  for (size_t i = 0; i < count; ++i) {
    // A shift by all of a word's bits would be none.
    bits = i % (64 / size) == 0 ? draws.next() : bits >> (size % 64);
    auto value = load<Bits>(from, i);
    auto size_of_it = static_cast<Bits>(value & ~sign);
    auto steps = static_cast<Bits>((static_cast<Bits>(bits) & (range - 1))
                                   - range / 2);
    auto changes = size_of_it >= lowest && size_of_it < highest;
    store(changes ? static_cast<Bits>(value + steps) : value, to, i);
  }
}

} // namespace

value_habit habit_of(dtype type,
                     std::span<const std::span<const std::byte>> draws) {
  switch (type) {
    case dtype::float32: return habit_in(sample<float>(draws));
    case dtype::float64: return habit_in(sample<double>(draws));
    default: return {};
  }
}

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

void blend(std::span<const std::byte> first, std::span<const std::byte> second,
           std::span<std::byte> to, dtype type, const value_habit& habit,
           uint64_t seed) {
  if (type == dtype::float64)
    blend_as<double, uint64_t>(first, second, to, habit, seed);
  else
    blend_as<float, uint32_t>(first, second, to, habit, seed);
}

void vary(std::span<const std::byte> from, std::span<std::byte> to, dtype type,
          uint64_t seed) {
  switch (type) {
    case dtype::float64: return vary_as<uint64_t>(from, to, 52, seed);
    case dtype::float32: return vary_as<uint32_t>(from, to, 23, seed);
    case dtype::float16: return vary_as<uint16_t>(from, to, 10, seed);
    case dtype::bfloat16: return vary_as<uint16_t>(from, to, 7, seed);
    default: std::ranges::copy(from, to.begin());
  }
}

void scatter(std::span<const std::byte> from, std::span<std::byte> to,
             size_t element, secret_seeds& seeds) {
  auto count = to.size() / element;
  if (count == 0)
    return;
  auto wanted = fewest_scattered << seeds.next() % scattered_doublings;
  auto apart = std::max<size_t>(2, count / wanted);
  quick_draws draws{seeds.next()};
  for (auto at = draws.next() % std::min(apart, count); at < count;
       at += 1 + draws.next() % (2 * apart - 1))
    std::memcpy(to.data() + at * element, from.data() + at * element, element);
}

} // namespace swage
