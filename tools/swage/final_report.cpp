#include "tools/swage/final_report.hpp"

#include "tools/swage/commands.hpp"
#include "tools/swage/run_view.hpp"

#include <fmt/format.h>

namespace swage {

int print_final_report(const std::filesystem::path& run) {
  auto view = read_run(run, 0);
  if (!view)
    return report(view.error());
  if (!view->evaluations.empty())
    fmt::print("\n{}\n{}", eval_table(view->evaluations),
               outcome_table(view->evaluations));
  if (!is_over(*view))
    fmt::print("\nThe run is not over; continue it with `swage train {} --out "
               "{} --resume`.\n",
               (run / "config.toml").string(), run.string());
  fmt::print("\nThe run is in {}; `swage inspect {}` shows its samples.\n",
             run.string(), run.string());
  return 0;
}

} // namespace swage
