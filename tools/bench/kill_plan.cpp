#include "tools/bench/kill_plan.hpp"

#include "runtime/buffer/seeded.hpp"

#include <algorithm>
#include <array>

namespace swage::bench {

namespace {

constexpr uint64_t position_stream = 1, delay_stream = 2, stage_stream = 3,
                   order_stream = 4, victim_stream = 5;

// A process needs seconds until it trains; a checkpoint takes a fraction of
// one.
constexpr double longest_start_s = 8, longest_write_s = 0.08,
                 longest_step_s = 0.1;

/// Draws of one plan, each a function of the seed and its place.
struct draws {
  uint64_t seed;

  double operator()(uint64_t stream, uint64_t i) const {
    return uniform(mix({seed, stream, i}));
  }
};

/// How many of the kills are of one of the two rarer kinds.
uint32_t fifth(uint32_t kills) {
  return kills < 3 ? 0 : std::max(1u, (kills + 2) / 5);
}

std::vector<planned_kill> draw_progress(const draws& draw, uint32_t count,
                                        uint32_t stages) {
  std::vector<planned_kill> out;
  for (uint32_t i = 0; i < count; ++i) {
    auto share = (i + draw(position_stream, i)) / count;
    out.push_back({moment::progress, share * stages,
                   longest_step_s * draw(delay_stream, i)});
  }
  return out;
}

void add_checkpoints(const draws& draw, uint32_t count,
                     const std::vector<uint32_t>& training,
                     std::vector<planned_kill>& to) {
  for (uint32_t i = 0; i < count && !training.empty(); ++i) {
    // In turns, and not so late in a stage that it writes no more of them.
    auto stage = training[i % training.size()];
    auto share = 0.8 * draw(stage_stream, i);
    to.push_back({moment::checkpoint, stage + share,
                  longest_write_s * draw(delay_stream, 1000 + i)});
  }
}

/// Behind a kill that another process follows: not behind the last one.
void add_start_ups(const draws& draw, uint32_t count,
                   std::vector<planned_kill>& to) {
  auto before = shuffled(mix({draw.seed, order_stream}),
                         static_cast<uint32_t>(to.size()));
  count = std::min<uint32_t>(count, static_cast<uint32_t>(before.size()));
  std::vector<uint32_t> chosen{before.begin(), before.begin() + count};
  std::ranges::sort(chosen, std::ranges::greater{});
  for (auto i : chosen)
    to.insert(to.begin() + i + 1,
              {moment::start_up, to[i].at,
               longest_start_s * draw(delay_stream, 2000 + i)});
}

} // namespace

const char* to_string(victim whom) {
  constexpr std::array names = {"both", "parent", "node"};
  return names[static_cast<size_t>(whom)];
}

std::vector<planned_kill> draw_kills(uint64_t seed, uint32_t kills,
                                     uint32_t stages,
                                     const std::vector<uint32_t>& training) {
  draws draw{seed};
  auto rare = fifth(kills);
  auto checkpoints = training.empty() ? 0 : rare;
  auto out = draw_progress(draw, kills - rare - checkpoints, stages);
  add_checkpoints(draw, checkpoints, training, out);
  std::ranges::stable_sort(out, {}, &planned_kill::at);
  add_start_ups(draw, rare, out);
  for (size_t i = 0; i < out.size(); ++i) {
    auto order = shuffled(mix({seed, victim_stream, i / 3}), 3);
    out[i].whom = static_cast<victim>(order[i % 3]);
  }
  return out;
}

} // namespace swage::bench
