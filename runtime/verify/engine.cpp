#include "runtime/verify/engine.hpp"

#include "runtime/task/program.hpp"
#include "runtime/verify/build.hpp"
#include "runtime/verify/engine_canary.hpp"
#include "runtime/verify/engine_seeds.hpp"
#include "runtime/verify/engine_trials.hpp"
#include "runtime/verify/extract.hpp"
#include "runtime/verify/judge_client.hpp"
#include "runtime/verify/measure.hpp"
#include "runtime/verify/runner.hpp"
#include "runtime/verify/screen.hpp"
#include "runtime/verify/verdict_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace swage {

namespace {

namespace fs = std::filesystem;

bool is_cheating(category kind) {
  return kind >= category::cheating_disallowed_aten
         && kind <= category::cheating_tampering;
}

verdict refused(category kind, std::string detail) {
  verdict out;
  out.kind = kind;
  out.detail = std::move(detail);
  out.legal = !is_cheating(kind) && !is_uncharged(kind);
  return out;
}

std::string processor() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line;
  return "unknown processor";
}

result<fs::path> sandbox_library(const fs::path& worker) {
  auto bin = worker.parent_path();
  for (const auto& path : {bin / "libswage_sandbox.so",
                           bin.parent_path() / "lib" / "libswage_sandbox.so"})
    if (std::error_code code; fs::exists(path, code))
      return path;
  return fail(ec::not_found,
              fmt::format("libswage_sandbox.so is neither beside '{}' nor in "
                          "lib beside its folder. Build the target "
                          "swage_sandbox.",
                          worker.string()));
}

bool same_tensors(const std::vector<tensor_spec>& a,
                  const std::vector<tensor_spec>& b) {
  return std::ranges::equal(a, b, [](auto& x, auto& y) {
    return x.type == y.type && x.shape == y.shape && x.strides == y.strides;
  });
}

/// Takes a program that was read from a module if its kernels have the same
/// arguments.
void set_program(const std::string& text, task& into) {
  auto read = parse_program(text);
  auto args = read ? signature_of(*read) : tl::unexpected{read.error()};
  if (!args || !same_tensors(args->inputs, into.args.inputs)
      || !same_tensors(args->state, into.args.state)
      || !same_tensors(args->outputs, into.args.outputs))
    return;
  into.program = text;
  into.canonical = canonical(*read);
  for (auto& node : read->nodes)
    if (std::ranges::find(into.tags, node.row->name) == into.tags.end())
      into.tags.emplace_back(node.row->name);
}

class local_engine : public engine {
public:
  explicit local_engine(engine_options options)
    : options_{std::move(options)}, seeds_{options_.secret} {
  }

  result<void> open();

  result<task> load(const task& what) override;
  verdict verify(const task& what, const candidate& who,
                 std::stop_token stop) override;

private:
  verdict examine(const task& what, const std::string& code,
                  const std::stop_token& stop);
  trial_outcome tried(const judged_task& task, const eval_spec& eval,
                      const artifact& built, const std::stop_token& stop);
  void timed(const judged_task& task, const eval_spec& eval,
             const artifact& built, const std::stop_token& stop,
             verdict& into);
  measurement measured(const judged_task& task, const eval_spec& eval,
                       const artifact& built, const std::stop_token& stop);
  void after_fault();
  void begin(const char* step) const {
    if (on_step)
      on_step(step);
  }

  engine_options options_;
  secret_seeds seeds_;
  verdict_setting setting_;
  std::unique_ptr<builder> builder_;
  std::unique_ptr<runner> runner_;
  std::unique_ptr<judge_client> judge_;
  std::unique_ptr<measurer> measurer_;
  std::unique_ptr<verdict_cache> verdicts_;
  canary canary_;
  trial_memory memory_;
};

/// Moves a result's value to where it belongs, or returns its error.
template <class T>
result<void> take(result<T> made, T& to) {
  if (!made)
    return tl::unexpected{made.error()};
  to = std::move(*made);
  return {};
}

result<void> local_engine::open() {
  std::error_code code;
  fs::create_directories(options_.cache, code);
  if (code)
    return fail(code == std::errc::no_space_on_device ? ec::io
                                                      : ec::invalid_config,
                fmt::format("cannot make the cache folder '{}': {}; name "
                            "another with verifier.cache or XDG_CACHE_HOME",
                            options_.cache.string(), code.message()));
  auto library = sandbox_library(options_.worker);
  if (!library)
    return tl::unexpected{library.error()};
  // These two import torch while the rest goes on.
  if (auto done = take(judge_client::start(options_.python, options_.library,
                                           seeds_.secret()),
                       judge_);
      !done)
    return done;
  measure_options timing{options_.python, options_.library, *library,
                         options_.cache / "measure.lock",
                         options_.measure_cpu};
  if (auto done = take(measurer::start(timing), measurer_); !done)
    return done;
  if (auto done = take(runner::start({options_.worker}), runner_); !done)
    return done;
  builder_options building;
  building.worker = options_.worker;
  building.cache = options_.cache / "build";
  building.prelude = options_.library / "prelude.hpp";
  building.compiler = options_.compiler;
  if (auto done = take(builder::create(building), builder_); !done)
    return done;
  setting_ = {builder_->toolchain(), options_.prompt, processor(),
              scripts_hash(options_.library), {}};
  return take(verdict_cache::open(options_.cache_verdicts ? options_.cache
                                                          : fs::path{}),
              verdicts_);
}

result<task> local_engine::load(const task& what) {
  auto loaded = judge_->load(what);
  if (!loaded)
    return tl::unexpected{loaded.error()};
  auto out = what;
  out.args = (*loaded)->args;
  if (!options_.read_programs || !out.program.empty())
    return out;
  auto text = judge_->read_program(**loaded);
  if (!text)
    return tl::unexpected{text.error()};
  set_program(*text, out);
  return out;
}

verdict local_engine::verify(const task& what, const candidate& who,
                             std::stop_token stop) try {
  if (what.on != target::cpu || what.as != form::function)
    return refused(category::infra_unsupported,
                   fmt::format("this engine judges target cpu in function "
                               "form, not {} in {} form",
                               to_string(what.on), to_string(what.as)));
  auto code = extract(who.response, what.as);
  if (!code)
    return refused(code.error().kind, code.error().detail);
  if (!options_.cache_verdicts)
    return examine(what, *code, stop);
  // Asked here and not at the start, which the import of torch would hold up.
  if (setting_.torch.empty())
    if (auto done = take(judge_->torch_version(stop), setting_.torch); !done)
      return refused(category_of(done.error()), done.error().message);
  auto key = verdict_key(what, *code, setting_);
  if (auto known = verdicts_->find(key))
    return *known;
  auto out = examine(what, *code, stop);
  verdicts_->store(key, out);
  return out;
} catch (const std::exception& reason) {
  // Out of memory, for one: ours, not the candidate's.
  return refused(category::infra_worker, reason.what());
}

verdict local_engine::examine(const task& what, const std::string& code,
                              const std::stop_token& stop) {
  if (auto bad = screen(code))
    return refused(bad->kind, bad->detail);
  auto task = judge_->load(what, stop);
  if (!task)
    return refused(category_of(task.error()), task.error().message);
  begin("compiling");
  build_limits limits;
  limits.timeout_s = what.eval.build_timeout_s;
  limits.stop = stop;
  auto built = builder_->build(code, (*task)->args, limits);
  if (!built)
    return refused(built.error().kind, built.error().detail);
  begin("testing");
  auto trial = tried(**task, what.eval, *built, stop);
  auto out = refused(trial.kind, trial.detail);
  out.compiled = true;
  out.correct = trial.ok();
  out.pass_fraction = trial.pass_fraction;
  out.times.build_s = built->build_s;
  out.times.run_s = trial.run_s;
  if (trial.ok() && what.eval.measure)
    timed(**task, what.eval, *built, stop, out);
  return out;
}

trial_outcome local_engine::tried(const judged_task& task,
                                  const eval_spec& eval, const artifact& built,
                                  const std::stop_token& stop) {
  trial_tools tools{*judge_, *runner_, seeds_, memory_};
  auto out = try_candidate(task, eval, built, tools, stop);
  if (!is_transient(out.kind) || stop.stop_requested())
    return out;
  after_fault();
  trial_tools again{*judge_, *runner_, seeds_, memory_};
  return try_candidate(task, eval, built, again, stop);
}

/// Sees whether the sandbox still works, and replaces it if it does not.
void local_engine::after_fault() {
  if (canary_.sing(*builder_, *runner_))
    return;
  if (auto fresh = runner::start({options_.worker}))
    runner_ = std::move(*fresh);
}

measurement local_engine::measured(const judged_task& task,
                                   const eval_spec& eval,
                                   const artifact& built,
                                   const std::stop_token& stop) {
  measurer_->on_measure = on_measure;
  auto out = measurer_->measure(task, eval, built, *judge_, seeds_, stop);
  if (is_transient(out.kind) && !stop.stop_requested()) {
    auto first = out.wall_s;
    out = measurer_->measure(task, eval, built, *judge_, seeds_, stop);
    out.wall_s += first;
  }
  return out;
}

void local_engine::timed(const judged_task& task, const eval_spec& eval,
                         const artifact& built, const std::stop_token& stop,
                         verdict& into) {
  begin("timing");
  auto found = measured(task, eval, built, stop);
  into.times.measure_s = found.wall_s;
  auto excessive = [&] {
    return found.ok() && found.times.speedup > eval.excessive_speedup;
  };
  if (excessive()) {
    // Once more, in new processes and with more pairs, before it is refused.
    auto strict = eval;
    strict.timing_pairs = eval.timing_pairs * 3;
    found = measured(task, strict, built, stop);
    into.times.measure_s += found.wall_s;
  }
  into.times.reference_s = found.times.reference_s;
  into.times.candidate_s = found.times.candidate_s;
  into.times.speedup_low = found.times.bounds.low;
  into.times.speedup_high = found.times.bounds.high;
  if (!found.ok()) {
    into.kind = found.kind;
    into.detail = found.detail;
    into.correct = is_cheating(found.kind) || is_uncharged(found.kind);
    into.legal = !is_cheating(found.kind) && !is_uncharged(found.kind);
    return;
  }
  into.speedup = found.times.speedup;
  if (excessive()) {
    into.kind = category::cheating_excessive_speedup;
    into.legal = false;
    into.detail = fmt::format("{:.1f} times as fast as the reference, also "
                              "when measured again: more than can be believed "
                              "of this task",
                              found.times.speedup);
  }
}

} // namespace

result<std::unique_ptr<engine>> engine::start(engine_options options) {
  auto made = std::make_unique<local_engine>(std::move(options));
  if (auto done = made->open(); !done)
    return tl::unexpected{done.error()};
  return made;
}

} // namespace swage
