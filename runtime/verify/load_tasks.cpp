#include "runtime/verify/load_tasks.hpp"

#include <utility>

namespace swage {

result<std::vector<task>> load_tasks(engine& judge,
                                     const std::vector<task>& all,
                                     const load_listener& told) {
  std::vector<task> loaded;
  size_t done = 0;
  for (auto& one : all) {
    auto whole = judge.load(one);
    if (!whole && whole.error().code != ec::task_invalid)
      return tl::unexpected{whole.error()};
    if (whole)
      loaded.push_back(std::move(*whole));
    else if (told.on_left_out)
      told.on_left_out(one, whole.error());
    if (told.on_progress)
      told.on_progress(++done, all.size());
  }
  if (loaded.empty())
    return fail(ec::task_invalid, "none of the tasks can be judged");
  return loaded;
}

} // namespace swage
