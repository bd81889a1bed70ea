#include "tools/swage/local_engine.hpp"

#include "tools/swage/activity.hpp"

#include <utility>

namespace swage {

result<judge_of_one> judge_one(const config& settings, const task& what,
                               const std::string& name, bool read_programs) {
  activity doing{"starting the judge"};
  auto judge = start_engine(settings.verifier, read_programs);
  if (!judge)
    return tl::unexpected{judge.error()};
  auto loaded = (*judge)->load(what);
  if (loaded)
    return judge_of_one{std::move(*judge), std::move(*loaded)};
  if (loaded.error().code == ec::task_invalid)
    return fail(ec::task_invalid, name + ": " + loaded.error().message);
  return tl::unexpected{loaded.error()};
}

verdict verify_alone(judge_of_one& at, const candidate& who) {
  activity doing{"looking at the kernel"};
  at.judge->on_step = [&](const char* step) {
    doing.now(std::string{step} + " the kernel");
  };
  auto outcome = at.judge->verify(at.what, who, {});
  at.judge->on_step = nullptr;
  return outcome;
}

} // namespace swage
