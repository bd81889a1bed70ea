#include "tools/bench/run_figures.hpp"

#include "runtime/buffer/seeded.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <string>

namespace swage::bench {

namespace {

constexpr uint64_t wait_stream = 301;

/// Of each pair, what `what` says.
template <class What>
std::vector<double> of_pairs(const std::vector<run_pair>& pairs, What what) {
  std::vector<double> out;
  for (auto& one : pairs)
    out.push_back(what(one));
  return out;
}

} // namespace

double idle_seconds(std::string_view proc_stat, const std::vector<int>& cores,
                    double ticks_per_s) {
  std::istringstream text{std::string{proc_stat}};
  double ticks = 0;
  size_t found = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields{line};
    std::string name;
    fields >> name;
    for (auto core : cores) {
      if (name != "cpu" + std::to_string(core))
        continue;
      double user = 0, nice = 0, system = 0, idle = 0, waiting = 0;
      fields >> user >> nice >> system >> idle >> waiting;
      ticks += idle + waiting;
      ++found;
    }
  }
  return found == cores.size() ? ticks / ticks_per_s : -1;
}

double samples_per_s(const run_figures& of) {
  return static_cast<double>(of.samples) / of.wall_s;
}

double idle_share(const run_figures& of) {
  return of.idle_s / (of.idle_s + of.own_s);
}

double others_share(const run_figures& of) {
  return std::max(0.0, 1 - (of.idle_s + of.own_s) / (of.cores * of.wall_s));
}

double wanted_ratio(double idle_share, double least) {
  return std::max(least, 0.9 / (1 - idle_share));
}

ratio_summary summarise_ratio(const std::vector<run_pair>& pairs) {
  auto ratios = of_pairs(pairs, [](auto& one) {
    return samples_per_s(one.asynchronous) / samples_per_s(one.lockstep);
  });
  return {median(ratios), median_interval(ratios)};
}

double median_idle_share(const std::vector<run_pair>& pairs) {
  return median(
    of_pairs(pairs, [](auto& one) { return idle_share(one.lockstep); }));
}

double median_decode_phase_s(const std::vector<run_pair>& pairs) {
  return median(
    of_pairs(pairs, [](auto& one) { return one.lockstep.decode_phase_s; }));
}

double drawn_wait_s(uint64_t seed, uint64_t candidate, double median_s) {
  // Box and Muller; 1 - u, because the logarithm of 0 is none.
  auto radius = std::sqrt(
    -2 * std::log(1 - uniform(mix({seed, wait_stream, candidate, 0}))));
  auto angle = 2 * std::numbers::pi
               * uniform(mix({seed, wait_stream, candidate, 1}));
  return median_s * std::exp(radius * std::cos(angle));
}

} // namespace swage::bench
