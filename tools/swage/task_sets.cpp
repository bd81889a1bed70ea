#include "tools/swage/task_sets.hpp"

#include "runtime/config/knobs.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/task/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace swage {

std::vector<task>& part_of(task_sets& sets, const std::string& name) {
  if (name == "train")
    return sets.train;
  return name == "validation" ? sets.validation : sets.held_out;
}

result<std::vector<task>> load_part(const config& settings, bool is_named,
                                    const std::string& part) {
  if (is_named)
    return load_suite(settings.tasks.suite, settings.verifier, log_warning);
  auto sets = load_task_sets(settings, log_warning);
  if (!sets)
    return tl::unexpected{sets.error()};
  return std::move(part_of(*sets, part));
}

result<task> task_by_id(const std::vector<task>& all, const std::string& id) {
  auto found = std::ranges::find(all, id, &task::id);
  if (found != all.end())
    return *found;
  std::vector<std::string_view> names;
  for (auto& one : all)
    names.push_back(one.id);
  auto near = nearest(id, names);
  return fail(ec::not_found,
              fmt::format("no task {}{}", id,
                          near.empty() ? "; leave --id out for the list"
                                       : "; did you mean " + near + "?"));
}

} // namespace swage
