#include "runtime/task/task_sets.hpp"

#include "runtime/task/generate.hpp"
#include "runtime/task/operators.hpp"
#include "runtime/task/suite.hpp"

#include <fmt/format.h>

#include <utility>

namespace swage {

result<void> check_tasks(const config& settings, const knob_origins& origins) {
  auto where = origins.find("tasks.operators");
  for (auto& name : settings.tasks.operators)
    if (auto bad = operator_complaint(name))
      return fail(ec::invalid_config,
                  fmt::format("{}: tasks.operators: {}",
                              where == origins.end() ? "default"
                                                     : where->second,
                              *bad));
  return {};
}

result<task_sets> load_task_sets(const config& settings,
                                 const suite_listener& told) {
  if (settings.tasks.suite == "generated")
    return generate_sets(settings.tasks, settings.verifier);
  auto all = load_suite(settings.tasks.suite, settings.verifier, told);
  if (!all)
    return tl::unexpected{all.error()};
  return split_suite(std::move(*all), settings.tasks);
}

} // namespace swage
