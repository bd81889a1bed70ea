#include "runtime/verify/start_engine.hpp"

#include "runtime/config/paths.hpp"
#include "runtime/task/prompt.hpp"

namespace swage {

result<std::unique_ptr<engine>> start_engine(const verifier_config& settings,
                                             bool read_programs) {
  auto worker = worker_program();
  if (!worker)
    return tl::unexpected{worker.error()};
  auto python = python_program();
  if (!python)
    return tl::unexpected{python.error()};
  return engine::start({.worker = *worker,
                        .python = *python,
                        .cache = cache_folder(settings.cache),
                        .library = verify_folder(),
                        .cache_verdicts = settings.cache_verdicts,
                        .read_programs = read_programs,
                        .prompt = prompt_hash()});
}

bool needs_programs(const tasks_config& tasks) {
  return tasks.prompt == "compact";
}

reward_options make_reward_options(const reward_config& settings) {
  return {.speed_weight = settings.speed_weight,
          .max_speed_bonus = settings.max_speed_bonus};
}

} // namespace swage
