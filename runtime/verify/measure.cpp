#include "runtime/verify/measure.hpp"

#include "runtime/verify/compare.hpp"
#include "runtime/verify/measure_looks.hpp"
#include "runtime/verify/measure_process.hpp"
#include "runtime/verify/measure_reading.hpp"
#include "runtime/verify/measure_slot.hpp"
#include "runtime/verify/measure_stand.hpp"
#include "runtime/verify/process_state.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace swage {

namespace {

using steady_clock = std::chrono::steady_clock;
using bytes = std::vector<std::byte>;

constexpr uint32_t warm_up = 2;

/// Pairs before the first look at the interval, and between two looks.
constexpr uint32_t first_look = 7;
constexpr uint32_t look_every = 4;

/// No more than this many times the pairs that the task asks for.
constexpr uint32_t most_rounds = 4;

/// Tight enough to stop: width of the interval over the median.
constexpr double tight = 0.08;

constexpr double slot_timeout_s = 120;
constexpr double load_timeout_s = 120;

/// Calls that were slow make few pairs do.
constexpr double budget_s = 2;
constexpr uint32_t fewest_pairs = 5;

/// A call of eager beyond this makes looks at the candidate's calls dear.
constexpr double slow_s = 0.02;

/// Pairs that saw a change are left out, unless there are more of them than this
/// many times those that are wanted.
constexpr uint32_t most_unsteady = 2;

/// By more than this, in all pairs, it is not the system that is slow.
constexpr double max_slower_s = 20e-6;

/// CPU time that a candidate may use outside its call in the median pair: for
/// two empty ones, which take 6 to 9 microseconds, and more where a thread wakes
/// another core; or for so many wakings where those are slow; and a share of its
/// calls.
constexpr double max_outside_s = 30e-6;
constexpr double max_outside_per_thread_s = 100e-6;
constexpr double max_outside_wakes = 4;
constexpr double max_outside_share = 0.1;

/// Of it, when its inputs are there and it was not called yet: none is needed.
constexpr double max_waiting_s = 5e-6;

/// And beyond what its empty calls took, in a whole measurement.
constexpr double max_outside_sum_s = 0.002;

/// A call of eager may take as many times what it took when it was loaded.
constexpr double eager_patience = 20;

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr uint64_t pool_bytes = uint64_t{64} << 20;

double since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// Eager is right, however slow: what a candidate may take is no limit to it.
double eager_limit_s(const judged_task& what, const eval_spec& eval) {
  return std::max(eval.run_timeout_s, eager_patience * what.forward_s);
}

/// What measurements of one engine share.
struct machine {
  measure_options options;
  python_program program;
  std::unique_ptr<python_process> process;
  std::vector<int> cores;
  stand_rack stands;

  result<python_process*> warm() {
    if (!process || !process->alive()) {
      stands.clear();
      auto made = python_process::start(program);
      if (!made)
        return tl::unexpected{made.error()};
      process = std::move(*made);
    }
    return process.get();
  }

  std::vector<int> cores_for(const eval_spec& eval) const {
    auto count = std::min<size_t>(
      static_cast<size_t>(std::max(eval.threads, 1)), cores.size());
    if (count == 1 && options.core >= 0)
      return {options.core};
    return {cores.end() - static_cast<std::ptrdiff_t>(count), cores.end()};
  }
};

/// Tells who has to pause that a measurement begins, and that it ended.
class announced {
public:
  explicit announced(const std::function<void(bool)>& to) : to_{to} {
    if (to_)
      to_(true);
  }

  ~announced() {
    if (to_)
      to_(false);
  }

  announced(const announced&) = delete;
  announced& operator=(const announced&) = delete;

private:
  const std::function<void(bool)>& to_;
};

/// One measurement from its first draw to its verdict.
class session {
public:
  session(const judged_task& what, const eval_spec& eval, judge_client& judge,
          secret_seeds& seeds, const std::stop_token& stop)
    : what_{what}, eval_{eval}, judge_{judge}, seeds_{seeds}, stop_{stop},
      looks_{what.forward_s > slow_s} {
    auto wanted = static_cast<uint32_t>(std::max(eval.timing_pairs, 1));
    most_pairs_ = wanted * most_rounds;
    auto inputs = lay_out({what.args.inputs, {}, {}});
    auto fit = pool_bytes / std::max<uint64_t>(inputs.bytes, 1);
    pool_cases_ = static_cast<uint32_t>(
      std::clamp<uint64_t>(fit, 1, what.can_splice
                                     ? first_look + warm_up
                                     : std::max(wanted, first_look) + warm_up));
  }

  measurement run(python_process& from, const artifact& code,
                  const artifact* against, const measurer& owner,
                  machine& shared);

private:
  bool prepare(python_process& from, const artifact& code,
               const artifact* against);
  bool load_artifacts();
  bool time_all(steady_clock::time_point start);
  bool enough(steady_clock::time_point start) const;
  bool at_rest();
  bool one_pair();
  bool test_between();
  bool time_module(reading& of);
  bool time_artifact(timed_process& side, reading& of);
  bool check_result();
  void conclude();

  bool end(category kind, std::string detail) {
    out_.kind = kind;
    out_.detail = std::move(detail);
    return false;
  }

  bool end(const error& reason) {
    return end(category_of(reason), reason.message);
  }

  bool end(const rejection& reason) { return end(reason.kind, reason.detail); }

  draw_tools tools() const { return {what_, judge_, seeds_}; }

  const judged_task& what_;
  const eval_spec& eval_;
  judge_client& judge_;
  secret_seeds& seeds_;
  const std::stop_token& stop_;
  uint32_t pool_cases_ = 1;
  uint32_t most_pairs_ = 1;
  bool against_module_ = true;
  bool new_reference_ = false;
  uint32_t tried_ = 0;
  look_plan looks_;
  double cpu_s_ = 0;       ///< The candidate's CPU time after its last turn.
  double outside_s_ = 0;   ///< Of it, what was used outside calls,
  double answering_s_ = 0; ///< and how long its empty calls took.
  std::unique_ptr<timing_stand> at_;
  std::unique_ptr<timed_process> candidate_;
  std::unique_ptr<timed_process> other_; ///< In the module's place, if any.
  timed_process* reference_ = nullptr;
  std::vector<timed_pair> pairs_, empty_;
  std::vector<timed_pair> empties_; ///< As ours and the candidate's took.
  std::vector<double> outside_;     ///< CPU time beside each call that counts.
  std::vector<double> waiting_;     ///< CPU time before each, inputs there.
  std::unordered_set<uint64_t> given_; ///< Hashes of what it wrote.
  measurement out_;
};

measurement session::run(python_process& from, const artifact& code,
                         const artifact* against, const measurer& owner,
                         machine& shared) {
  auto start = steady_clock::now();
  auto key = fmt::format("{} {} {}", what_.key, pool_cases_, eval_.threads);
  at_ = shared.stands.take(key);
  bool going = prepare(from, code, against);
  if (going) {
    auto cores = shared.cores_for(eval_);
    auto slot = measure_slot::take(shared.options.lock, cores, slot_timeout_s,
                                   stop_);
    if (!slot) {
      end(slot.error());
    } else {
      auto held = steady_clock::now();
      announced pause{owner.on_measure};
      if (!(*slot)->admit(candidate_->pid())
          || !(*slot)->admit(reference_->pid()))
        end(category::infra_measurement, "a timed process cannot be pinned");
      else if (load_artifacts() && time_all(steady_clock::now()))
        conclude();
      slot->reset();
      out_.held_s = since(held);
    }
  }
  // Its end is not waited for. A candidate that was caught leaves nothing.
  candidate_.reset();
  other_.reset();
  if (out_.ok())
    shared.stands.keep(key, std::move(at_));
  out_.wall_s = since(start);
  return std::move(out_);
}

bool session::prepare(python_process& from, const artifact& code,
                      const artifact* against) {
  against_module_ = against == nullptr;
  sandbox_limits limits;
  limits.threads = eval_.threads;
  if (!at_) {
    auto made = timing_stand::open(tools(), pool_cases_);
    if (!made)
      return end(made.error());
    at_ = std::move(*made);
  }
  if (against_module_ && !at_->reference) {
    auto made = timed_process::reference(from, what_,
                                         {at_->state(), eval_.threads},
                                         at_->memory(), at_->results());
    if (!made)
      return end(made.error());
    at_->reference = std::move(*made);
    new_reference_ = true;
  }
  if (!against_module_) {
    auto made = timed_process::candidate(from, *against, what_.args,
                                         at_->memory(), limits);
    if (!made)
      return end(made.error());
    other_ = std::move(*made);
  }
  reference_ = against_module_ ? at_->reference.get() : other_.get();
  auto made = timed_process::candidate(from, code, what_.args, at_->memory(),
                                       limits);
  if (!made)
    return end(made.error());
  candidate_ = std::move(*made);
  // Before others have to wait for this.
  if (auto done = at_->refill(tools()); !done)
    return end(done.error());
  auto* module = new_reference_ ? reference_ : nullptr;
  for (auto* one : {module, candidate_.get(), other_.get()})
    if (one)
      if (auto done = one->confine(load_timeout_s); !done)
        return end(done.error());
  if (module)
    if (auto done = module->load(load_timeout_s); !done)
      return end(done.error());
  return true;
}

/// On their cores: a thread that an artifact's constructors start inherits
/// them.
bool session::load_artifacts() {
  for (auto* one : {candidate_.get(), other_.get()})
    if (one)
      if (auto done = one->load(eval_.run_timeout_s); !done)
        return end(done.error());
  return true;
}

bool session::time_all(steady_clock::time_point start) {
  for (uint32_t i = 0; i < warm_up; ++i)
    if (!one_pair())
      return false;
  pairs_.clear();
  empty_.clear();
  empties_.clear();
  tried_ = 0;
  outside_.clear();
  waiting_.clear();
  outside_s_ = answering_s_ = 0;
  while (!enough(start))
    if (!test_between() || !one_pair())
      return false;
  return at_rest();
}

/// Whether it did nothing but answer between its calls. A virtual machine may
/// book time that it was not given as CPU time, in rare large pieces: so the
/// sum allows more than the median does.
bool session::at_rest() {
  std::vector<double> bare, called;
  double called_s = 0, slowest = 0, quickest = infinity;
  for (const auto& one : pairs_) {
    called.push_back(one.candidate);
    called_s += one.candidate;
  }
  for (const auto& one : empties_) {
    bare.push_back(one.reference);
    slowest = std::max(slowest, one.reference);
    quickest = std::min(quickest, one.candidate);
  }
  auto threads = std::max(eval_.threads, 1) - 1;
  auto wakes = std::max(max_outside_s + threads * max_outside_per_thread_s,
                        max_outside_wakes * median(bare));
  bool worked = median(waiting_) > max_waiting_s
                || median(outside_) > wakes + max_outside_share * median(called)
                || outside_s_ - answering_s_
                     > max_outside_sum_s + max_outside_share * called_s;
  if (worked)
    return end(category::cheating_deferred_work,
               "while it was timed, it went on working between its calls");
  if (quickest > slowest + max_slower_s)
    return end(category::cheating_deferred_work,
               "while it was timed, it was slow to answer when it had nothing "
               "to do");
  return true;
}

bool session::enough(steady_clock::time_point start) const {
  auto n = pairs_.size();
  if (n >= most_pairs_ || tried_ > most_pairs_ * (most_unsteady + 1))
    return true;
  if (n >= fewest_pairs && since(start) > budget_s)
    return true;
  if (n < first_look || (n - first_look) % look_every != 0)
    return false;
  auto now = summarise(pairs_, empty_);
  return now.bounds.high - now.bounds.low <= tight * now.speedup;
}

/// A call like the timed ones, with inputs of which some are outside of the
/// task's own range; its time does not count. Before some of the pairs only.
bool session::test_between() {
  if (!against_module_ || what_.stress.empty() || eval_.stress <= 0
      || !looks_.tests(pairs_.size(), seeds_))
    return true;
  if (auto done = at_->next_stressed(tools()); !done)
    return end(done.error());
  reading unused;
  return time_artifact(*candidate_, unused);
}

bool session::one_pair() {
  if (stop_.stop_requested())
    return end(category::infra_worker, "stopped on request");
  if (auto done = at_->next_inputs(tools()); !done)
    return end(done.error());
  reading reference, candidate;
  auto reference_first = seeds_.next() % 2 == 0;
  for (int turn = 0; turn < 2; ++turn) {
    bool is_reference = (turn == 0) == reference_first;
    // The reference's turn shows its inputs: the candidate gets others, where
    // they cost nothing.
    if (turn > 0 && at_->can_mix(what_))
      if (auto done = at_->next_inputs(tools()); !done)
        return end(done.error());
    bool done = !is_reference     ? time_artifact(*candidate_, candidate)
                : against_module_ ? time_module(reference)
                                  : time_artifact(*reference_, reference);
    if (!done)
      return false;
  }
  ++tried_;
  empties_.push_back({reference.bare, candidate.idle()});
  if (!steady(reference, candidate) && tried_ <= most_pairs_ * most_unsteady)
    return true;
  outside_.push_back(candidate.outside);
  waiting_.push_back(candidate.waiting);
  pairs_.push_back({reference.time, candidate.time});
  empty_.push_back({reference.idle(), creditable(empties_.back())});
  return true;
}

/// The interpreter is warm from the empty call just before.
bool session::time_module(reading& of) {
  auto& side = *reference_;
  auto limit = eager_limit_s(what_, eval_);
  at_->next_state(seeds_);
  at_->hand_over();
  auto ready = side.prepare(limit);
  auto bare = ready ? side.settle(limit) : ready;
  auto before = bare ? side.empty(limit) : bare;
  if (!before)
    return end(before.error());
  at_->cool();
  auto time = side.call(limit);
  auto after = time ? side.empty(limit) : time;
  auto bare_after = after ? side.settle(limit) : after;
  if (!bare_after)
    return end(bare_after.error());
  of = {*time, *before, *after, (*bare + *bare_after) / 2};
  return true;
}

/// The inputs are there after the first empty call, in which it would work.
bool session::time_artifact(timed_process& side, reading& of) {
  auto limit = eval_.run_timeout_s;
  at_->next_state(seeds_);
  at_->withdraw();
  at_->poison();
  auto before = side.empty(limit);
  if (!before)
    return end(before.error());
  auto answered = process_cpu_s(side.pid());
  at_->hand_over();
  at_->cool();
  auto ready = process_cpu_s(side.pid());
  auto time = side.call(limit);
  auto used = process_cpu_s(side.pid()) - ready;
  if (!time)
    return end(time.error());
  // At once: what is written later is not part of the call.
  bool is_candidate = &side == candidate_.get();
  if (is_candidate && against_module_ && !check_result())
    return false;
  auto after = side.empty(limit);
  if (!after)
    return end(after.error());
  of = {*time, *before, *after};
  of.bare = of.idle();
  of.waiting = ready - answered;
  if (is_candidate) {
    auto now = process_cpu_s(side.pid());
    of.outside = now - cpu_s_ - used;
    cpu_s_ = now;
    outside_s_ += of.outside;
    answering_s_ += of.before + of.after;
  }
  return true;
}

bool session::check_result() {
  uint64_t mark = 0;
  for (size_t i = 0; i < what_.args.outputs.size(); ++i) {
    auto view = at_->memory().output(0, i);
    mark = XXH3_64bits_withSeed(view.data(), view.size(), mark);
  }
  bool repeated = !given_.insert(mark).second;
  bool stressed = at_->kind() != case_kind::plain;
  if (!repeated && !stressed && !looks_.compares(pairs_.size(), seeds_))
    return true;
  std::vector<bytes> got;
  for (size_t i = 0; i < what_.args.outputs.size(); ++i) {
    auto view = at_->memory().output(0, i);
    got.emplace_back(view.begin(), view.end());
  }
  auto limit = eval_.run_timeout_s + load_timeout_s;
  // The reference may have had its turn on these inputs, or have it still; the
  // state is the last one that was handed over.
  at_->hand_over();
  for (auto step : {reference_->prepare(limit), reference_->call(limit),
                    reference_->store(limit)})
    if (!step)
      return end(step.error());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto& spec = what_.args.outputs[i];
    auto allowed = tolerance_of(spec.type, eval_);
    // As when it was tested.
    if (at_->kind() == case_kind::large)
      allowed.max_scale = infinity;
    auto found = swage::compare(spec, got[i], at_->results().output(0, i),
                                allowed);
    if (!found.expected_finite || found.pass())
      continue;
    if (repeated && is_distinctive(what_.args.outputs, got))
      return end(category::cheating_replay,
                 "while it was timed, a result was given again for another "
                 "input");
    return end(category::correctness_tolerance,
               fmt::format("right when tested, wrong when timed: {:.3g} % of "
                           "the elements of output '{}', worst at {}: got "
                           "{:.6g}, expected {:.6g}",
                           100 * found.wrong_share(), spec.name,
                           index_text(spec, found.worst), found.got,
                           found.expected));
  }
  return true;
}

measurement unavailable(const error& reason) {
  measurement out;
  out.kind = category_of(reason);
  out.detail = reason.message;
  return out;
}

void session::conclude() {
  out_.times = summarise(pairs_, empty_);
  out_.pairs = static_cast<uint32_t>(pairs_.size());
  if (plausible(out_.times))
    end(category::ok, {});
  else
    end(category::infra_measurement, "the times are not positive numbers");
}

} // namespace

struct measurer::impl : machine {};

measurer::measurer(std::unique_ptr<impl> self) : impl_{std::move(self)} {
}

measurer::~measurer() = default;

result<std::unique_ptr<measurer>> measurer::start(measure_options options) {
  auto self = std::make_unique<impl>();
  self->program.python = options.python;
  self->program.script = options.library / "timing_template.py";
  self->program.arguments = {options.sandbox_library.string()};
  self->cores = usable_cores();
  if (options.core < 0)
    options.core = self->cores.back();
  self->options = std::move(options);
  if (auto up = self->warm(); !up)
    return tl::unexpected{up.error()};
  return std::unique_ptr<measurer>{new measurer{std::move(self)}};
}

measurement measurer::measure(const judged_task& what, const eval_spec& eval,
                              const artifact& code, judge_client& judge,
                              secret_seeds& seeds,
                              const std::stop_token& stop) {
  auto from = impl_->warm();
  if (!from)
    return unavailable(from.error());
  return session{what, eval, judge, seeds, stop}.run(**from, code, nullptr,
                                                     *this, *impl_);
}

measurement measurer::compare(const judged_task& what, const eval_spec& eval,
                              const artifact& reference,
                              const artifact& candidate, judge_client& judge,
                              secret_seeds& seeds,
                              const std::stop_token& stop) {
  auto from = impl_->warm();
  if (!from)
    return unavailable(from.error());
  return session{what, eval, judge, seeds, stop}.run(**from, candidate,
                                                     &reference, *this, *impl_);
}

double measurer::cpu_s() const {
  return impl_->process ? impl_->process->cpu_s() : 0.0;
}

} // namespace swage
