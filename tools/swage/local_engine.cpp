#include "tools/swage/local_engine.hpp"

#include "runtime/task/generate.hpp"
#include "runtime/task/suite.hpp"

namespace swage {

result<task> read_task(const std::filesystem::path& file,
                       const verifier_config& settings) {
  auto what = load_task_file(file, settings);
  if (!what)
    return what;
  what->eval = make_eval_spec(settings);
  return what;
}

result<task> load_named(engine& judge, const task& what,
                        const std::string& name) {
  auto loaded = judge.load(what);
  if (!loaded && loaded.error().code == ec::task_invalid)
    return fail(ec::task_invalid, name + ": " + loaded.error().message);
  return loaded;
}

} // namespace swage
