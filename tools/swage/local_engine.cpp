#include "tools/swage/local_engine.hpp"

namespace swage {

result<task> load_named(engine& judge, const task& what,
                        const std::string& name) {
  auto loaded = judge.load(what);
  if (!loaded && loaded.error().code == ec::task_invalid)
    return fail(ec::task_invalid, name + ": " + loaded.error().message);
  return loaded;
}

} // namespace swage
