#include "tools/bench/kept_figures.hpp"

#include "tools/bench/fixture.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace swage::bench {

namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_figures, wall_s, samples, own_s, idle_s,
                                   cores, paused_s, decode_phase_s, verdicts,
                                   cached_verdicts, busy_s)

run_figures kept_or_measured(const fs::path& file,
                             const std::function<run_figures()>& measure) {
  if (file.empty())
    return measure();
  if (std::ifstream in{file}) {
    std::fprintf(stderr, "kept in %s\n", file.c_str());
    try {
      return nlohmann::json::parse(in).get<run_figures>();
    } catch (const nlohmann::json::exception& e) {
      give_up(3, fmt::format("'{}' holds no figures: {}; remove it",
                             file.string(), e.what()));
    }
  }
  auto figures = measure();
  fs::create_directories(file.parent_path());
  auto part = file;
  part += ".part";
  std::ofstream{part} << nlohmann::json(figures).dump(2) << '\n';
  fs::rename(part, file);
  return figures;
}

} // namespace swage::bench
