#include "tools/swage/taught.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace swage {

std::optional<std::string> taught_complaint(const task& what,
                                            const tasks_config& taught) {
  if (what.program.empty())
    return "the policy was taught tasks of operators that it knows by name, "
           "and this module has others: expect little of it";
  auto& names = taught.operators;
  auto named = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (taught.suite != "generated" || named("all"))
    return std::nullopt;
  std::vector<std::string> lacking;
  std::ranges::remove_copy_if(what.tags, std::back_inserter(lacking), named);
  if (lacking.empty())
    return std::nullopt;
  return fmt::format("the policy was taught tasks of its run's "
                     "tasks.operators, and this module has others ({}): "
                     "expect little of it",
                     fmt::join(lacking, ", "));
}

} // namespace swage
