#include "tools/swage/verdict_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace swage {

namespace {

/// Null unless something was measured: times are then above 0.
nlohmann::ordered_json measured(double value) {
  if (!std::isfinite(value) || value <= 0)
    return nullptr;
  return value;
}

std::string measured_text(double value, std::string_view unit) {
  return std::isfinite(value) && value > 0
           ? fmt::format("{:.4g}{}", value, unit)
           : "not measured";
}

} // namespace

std::string verdict_json(const verdict& outcome, double reward,
                         std::string_view id) {
  auto& t = outcome.times;
  nlohmann::ordered_json object;
  if (!id.empty())
    object["id"] = id;
  object.update(nlohmann::ordered_json{
    {"compiled", outcome.compiled},
    {"correct", outcome.correct},
    {"legal", outcome.legal},
    {"speedup", measured(outcome.speedup)},
    {"category", to_string(outcome.kind)},
    {"detail", outcome.detail},
    {"pass_fraction", outcome.pass_fraction},
    {"reward", reward},
    {"times",
     {{"build_s", measured(t.build_s)},
      {"run_s", measured(t.run_s)},
      {"measure_s", measured(t.measure_s)},
      {"reference_s", measured(t.reference_s)},
      {"candidate_s", measured(t.candidate_s)},
      {"speedup_low", measured(t.speedup_low)},
      {"speedup_high", measured(t.speedup_high)}}},
  });
  // A compiler may print bytes that are no UTF-8.
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string verdict_lines(const verdict& outcome, double reward) {
  auto& t = outcome.times;
  auto speedup = measured_text(outcome.speedup, "");
  if (t.speedup_low > 0 && t.speedup_high > 0 && outcome.speedup > 0)
    speedup += fmt::format(" ({:.4g} to {:.4g})", t.speedup_low,
                           t.speedup_high);
  // The feedback has the rest of it.
  auto first = outcome.detail.substr(0, outcome.detail.find('\n'));
  auto detail = first.empty() ? "" : fmt::format("detail         {}\n", first);
  return fmt::format("compiled       {}\n"
                     "correct        {}\n"
                     "legal          {}\n"
                     "speedup        {}\n"
                     "category       {}\n"
                     "{}"
                     "pass_fraction  {:.4g}\n"
                     "reward         {:.4g}\n"
                     "reference      {}\n"
                     "candidate      {}\n"
                     "build          {}\n",
                     outcome.compiled, outcome.correct, outcome.legal, speedup,
                     to_string(outcome.kind), detail, outcome.pass_fraction,
                     reward, measured_text(t.reference_s, " s"),
                     measured_text(t.candidate_s, " s"),
                     measured_text(t.build_s, " s"));
}

int verdict_exit_code(const verdict& outcome) {
  if (outcome.ok())
    return 0;
  if (outcome.kind == category::task_invalid)
    return 2;
  return is_uncharged(outcome.kind) ? 3 : 1;
}

} // namespace swage
