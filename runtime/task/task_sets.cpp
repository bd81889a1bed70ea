#include "runtime/task/task_sets.hpp"

#include "runtime/task/generate.hpp"
#include "runtime/task/suite.hpp"

#include <utility>

namespace swage {

result<task_sets> load_task_sets(const config& settings) {
  if (settings.tasks.suite == "generated")
    return generate_sets(settings.tasks, settings.verifier);
  auto all = load_suite(settings.tasks.suite, settings.verifier);
  if (!all)
    return tl::unexpected{all.error()};
  return split_suite(std::move(*all), settings.tasks);
}

} // namespace swage
