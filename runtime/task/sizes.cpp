#include "runtime/task/sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace swage {

namespace {

constexpr std::array<int64_t, 16> columns = {
  32, 48, 64, 96, 100, 128, 160, 192, 200, 256, 320, 384, 500, 512, 768, 1000};
constexpr std::array<int64_t, 6> batches = {2, 3, 4, 6, 8, 16};
constexpr std::array<int64_t, 8> depths = {16, 24, 32, 48, 64, 80, 96, 128};

int64_t draw_elements(draw& random) {
  return std::llround(std::exp2(14 + 3 * random.unit()));
}

int64_t rest(int64_t elements, int64_t others, int64_t least) {
  return std::max(least, elements / others);
}

} // namespace

std::vector<int64_t> draw_shape(draw& random, size_t rank) {
  auto elements = draw_elements(random);
  if (rank == 1)
    return {elements};
  auto last = random.pick(columns);
  if (rank == 2)
    return {rest(elements, last, 8), last};
  auto first = random.pick(batches);
  last = random.pick(depths);
  // Up to the next multiple of eight where less would be too few elements.
  auto up = elements < (1 << 15) ? 7 : 0;
  auto middle = (rest(elements, first * last, 8) + up) / 8 * 8;
  if (rank == 3)
    return {first, middle, last};
  return {first, 4, rest(elements, 4 * first * last, 2) + 1, last};
}

product_shape draw_product_shape(draw& random, size_t rank) {
  auto inner = random.pick(depths);
  auto wide = random.pick(depths);
  while (wide == inner)
    wide = random.pick(depths);
  auto elements = std::llround(std::exp2(14 + random.unit()));
  if (rank == 2)
    return {{rest(elements, inner, 8) + 1, inner}, {inner, wide}};
  int64_t batch = random.between(2, 6);
  return {{batch, rest(elements, batch * inner, 8) + 1, inner},
          {batch, inner, wide}};
}

} // namespace swage
