#include "runtime/verify/measure.hpp"

#include "runtime/verify/compare.hpp"
#include "runtime/verify/measure_process.hpp"
#include "runtime/verify/measure_slot.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace swage {

namespace {

using steady = std::chrono::steady_clock;
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

/// One of this many timed calls has its result compared.
constexpr uint64_t compare_every = 3;

constexpr uint64_t splits = 1 << 20;

/// CPU time that a candidate may use between its calls, such as for being
/// woken.
constexpr double max_outside_s = 0.002;

constexpr uint64_t pool_bytes = uint64_t{64} << 20;

double since(steady::time_point start) {
  return std::chrono::duration<double>(steady::now() - start).count();
}

/// Takes what a call reads out of every cache, so that it finds its inputs as
/// cold as the other side does. Only them: whoever empties the whole cache
/// times how the interpreter that eager runs in gets it back.
void make_cold(std::span<const std::byte> memory) {
#ifdef __SSE2__
  constexpr size_t line = 64;
  for (size_t at = 0; at < memory.size(); at += line)
    _mm_clflush(memory.data() + at);
  _mm_mfence();
#else
  // No instruction for it: read as much as the second-level cache holds.
  auto size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  std::vector<unsigned char> other(size > 0 ? 2 * static_cast<size_t>(size)
                                            : memory.size());
  std::memset(other.data(), 1, other.size());
  asm volatile("" : : "r"(other.data()) : "memory");
#endif
}

/// Brings memory into the caches.
void bring_near(std::span<const std::byte> memory) {
  constexpr size_t line = 64;
  unsigned sum = 0;
  for (size_t at = 0; at < memory.size(); at += line)
    sum += static_cast<unsigned>(memory[at]);
  asm volatile("" : : "r"(sum));
}

/// What measurements of one engine share.
struct machine {
  measure_options options;
  python_program program;
  std::unique_ptr<python_process> process;
  std::vector<int> cores;

  result<python_process*> warm() {
    if (!process || !process->alive()) {
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

/// CPU time of another process, all its threads together.
double cpu_time(pid_t process) {
  clockid_t id{};
  timespec now{};
  if (::clock_getcpuclockid(process, &id) != 0
      || ::clock_gettime(id, &now) != 0)
    return 0;
  return static_cast<double>(now.tv_sec)
         + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// One measurement from its first draw to its verdict.
class session {
public:
  session(const judged_task& what, const eval_spec& eval, judge_client& judge,
          secret_seeds& seeds, const std::stop_token& stop)
    : what_{what}, eval_{eval}, judge_{judge}, seeds_{seeds}, stop_{stop},
      layout_{lay_out(what.args)},
      pool_layout_{lay_out({what.args.inputs, {}, {}})},
      results_layout_{lay_out({{}, {}, what.args.outputs})},
      state_{seeds.next()} {
    auto wanted = static_cast<uint32_t>(std::max(eval.timing_pairs, 1));
    most_pairs_ = wanted * most_rounds;
    auto fit = pool_bytes / std::max<uint64_t>(pool_layout_.bytes, 1);
    pool_cases_ = static_cast<uint32_t>(
      std::clamp<uint64_t>(fit, 1, std::max(wanted, first_look) + warm_up));
  }

  measurement run(python_process& from, const artifact& code,
                  const artifact* against, const measurer& owner,
                  machine& shared);

private:
  bool prepare(python_process& from, const artifact& code,
               const artifact* against);
  bool allocate();
  bool draw_state();
  bool draw();
  bool choose_inputs();
  void hand_over();
  bool time_all(steady::time_point start);
  bool enough(steady::time_point start) const;
  bool one_pair();
  bool time_side(timed_process& side, double& idle, double& busy);
  bool check_result();
  bool results_agree();
  void conclude();

  bool end(category kind, std::string detail) {
    out_.kind = kind;
    out_.detail = std::move(detail);
    return false;
  }

  bool end(const error& reason) {
    auto kind = reason.code == ec::task_invalid ? category::task_invalid
                : reason.code == ec::timeout    ? category::infra_timeout
                                                : category::infra_worker;
    return end(kind, reason.message);
  }

  bool end(const rejection& reason) { return end(reason.kind, reason.detail); }

  const judged_task& what_;
  const eval_spec& eval_;
  judge_client& judge_;
  secret_seeds& seeds_;
  const std::stop_token& stop_;
  case_layout layout_, pool_layout_, results_layout_;
  uint64_t state_;
  uint32_t pool_cases_ = 1;
  uint32_t most_pairs_ = 1;
  uint32_t drawn_ = 0; ///< Inputs in the pool that were not used yet.
  uint32_t which_ = 0; ///< Those of the present pair: the beginning of one,
  uint32_t tail_ = 0;  ///< the end of another
  uint64_t split_ = 1; ///< from here on, in parts of `splits`.
  bool against_module_ = true;
  double called_s_ = 0; ///< Wall time of all the candidate's calls.
  /// Inputs wait in a pool that no timed process sees, each until its own call:
  /// a candidate cannot work ahead.
  std::optional<shared_memory> pool_;
  /// Both sides read the same inputs, and two artifacts write the same outputs:
  /// pages differ in speed, by how the host keeps them.
  std::optional<shared_memory> memory_;
  std::optional<shared_memory> results_; ///< Of the reference, seen by it alone.
  std::unique_ptr<timed_process> candidate_, reference_;
  std::vector<timed_pair> pairs_, empty_;
  std::unordered_set<uint64_t> given_; ///< Hashes of what it wrote.
  measurement out_;
};

measurement session::run(python_process& from, const artifact& code,
                         const artifact* against, const measurer& owner,
                         machine& shared) {
  auto start = steady::now();
  bool going = prepare(from, code, against);
  if (going) {
    auto cores = shared.cores_for(eval_);
    auto slot = measure_slot::take(shared.options.lock, cores, slot_timeout_s,
                                   stop_);
    if (!slot) {
      end(slot.error());
    } else {
      auto held = steady::now();
      if (owner.on_measure)
        owner.on_measure(true);
      if (!(*slot)->admit(candidate_->pid())
          || !(*slot)->admit(reference_->pid()))
        end(category::infra_measurement, "a timed process cannot be pinned");
      else if (time_all(steady::now()))
        conclude();
      slot->reset();
      if (owner.on_measure)
        owner.on_measure(false);
      out_.held_s = since(held);
    }
  }
  out_.wall_s = since(start);
  return std::move(out_);
}

bool session::prepare(python_process& from, const artifact& code,
                      const artifact* against) {
  against_module_ = against == nullptr;
  if (!allocate())
    return false;
  sandbox_limits limits;
  limits.threads = eval_.threads;
  auto first = against_module_
                 ? timed_process::reference(from, what_, state_, *memory_,
                                            *results_)
                 : timed_process::candidate(from, *against, what_.args,
                                            *memory_, limits);
  if (!first)
    return end(first.error());
  reference_ = std::move(*first);
  auto second = timed_process::candidate(from, code, what_.args, *memory_,
                                         limits);
  if (!second)
    return end(second.error());
  candidate_ = std::move(*second);
  if (!draw_state() || !draw())
    return false;
  for (auto* side : {candidate_.get(), reference_.get()})
    if (auto loaded = side->load(load_timeout_s); !loaded)
      return end(loaded.error());
  return true;
}

bool session::allocate() {
  auto make = [&](std::optional<shared_memory>& to, const case_layout& layout,
                  uint32_t cases) {
    auto made = shared_memory::create(layout, cases);
    if (!made)
      return end(made.error());
    to.emplace(std::move(*made));
    return true;
  };
  // All cases but the first are addresses without memory.
  return make(pool_, pool_layout_, pool_cases_)
         && make(memory_, layout_, timed_process::reference_cases)
         && make(results_, results_layout_, 1);
}

/// One state for all calls. A module draws its own from the same seed.
bool session::draw_state() {
  judge_case one;
  one.seed = seeds_.next();
  one.state = state_;
  auto done = judge_.draw(what_, {&one, 1}, {memory_->fd(), &layout_});
  return done || end(done.error());
}

/// Fills the pool with new inputs.
bool session::draw() {
  std::vector<judge_case> cases(pool_cases_);
  for (uint32_t i = 0; i < pool_cases_; ++i) {
    cases[i].seed = seeds_.next();
    cases[i].which = i;
  }
  if (auto done = judge_.draw(what_, cases, {pool_->fd(), &pool_layout_},
                              {.state = false});
      !done)
    return end(done.error());
  drawn_ = pool_cases_;
  return true;
}

void session::hand_over() {
  for (size_t i = 0; i < pool_layout_.inputs.size(); ++i) {
    auto first = pool_->input(which_, i), second = pool_->input(tail_, i);
    auto element = size_of(what_.args.inputs[i].type);
    auto count = first.size() / element;
    auto head = which_ == tail_ ? count : count * split_ / splits;
    auto at = static_cast<std::ptrdiff_t>(head * element);
    std::copy(first.begin(), first.begin() + at, memory_->input(0, i).begin());
    std::copy(second.begin() + at, second.end(), memory_->input(0, i).begin() + at);
  }
}

/// Inputs that no call has seen: one from the pool, and when those are used up
/// the beginning of one and the end of another, where that makes an input.
bool session::choose_inputs() {
  if (drawn_ == 0 && !(what_.can_splice && pool_cases_ > 1) && !draw())
    return false;
  if (drawn_ > 0) {
    which_ = tail_ = pool_cases_ - drawn_;
    --drawn_;
    return true;
  }
  which_ = static_cast<uint32_t>(seeds_.next() % pool_cases_);
  tail_ = static_cast<uint32_t>((which_ + 1 + seeds_.next() % (pool_cases_ - 1))
                                % pool_cases_);
  split_ = 1 + seeds_.next() % (splits - 1);
  return true;
}

bool session::time_all(steady::time_point start) {
  for (uint32_t i = 0; i < warm_up; ++i)
    if (!one_pair())
      return false;
  pairs_.clear();
  empty_.clear();
  auto before = cpu_time(candidate_->pid());
  auto called_before = called_s_;
  while (!enough(start))
    if (!one_pair())
      return false;
  auto cores = static_cast<double>(std::max(eval_.threads, 1));
  auto outside = cpu_time(candidate_->pid()) - before
                 - cores * (called_s_ - called_before);
  if (outside > max_outside_s + 0.1 * called_s_)
    return end(category::cheating_deferred_work,
               "while it was timed, it went on working between its calls");
  return true;
}

bool session::enough(steady::time_point start) const {
  auto n = pairs_.size();
  if (n >= most_pairs_)
    return true;
  if (n >= fewest_pairs && since(start) > budget_s)
    return true;
  if (n < first_look || (n - first_look) % look_every != 0)
    return false;
  auto now = summarise(pairs_, empty_);
  return now.bounds.high - now.bounds.low <= tight * now.speedup;
}

bool session::one_pair() {
  if (stop_.stop_requested())
    return end(category::infra_worker, "stopped on request");
  if (!choose_inputs())
    return false;
  timed_pair idle, busy;
  auto reference_first = seeds_.next() % 2 == 0;
  for (int turn = 0; turn < 2; ++turn) {
    bool is_reference = (turn == 0) == reference_first;
    bool done = is_reference
                  ? time_side(*reference_, idle.reference, busy.reference)
                  : time_side(*candidate_, idle.candidate, busy.candidate);
    if (!done)
      return false;
  }
  pairs_.push_back(busy);
  empty_.push_back(idle);
  return true;
}

bool session::time_side(timed_process& side, double& idle, double& busy) {
  auto limit = eval_.run_timeout_s;
  bool is_candidate = &side == candidate_.get();
  hand_over();
  if (is_candidate || !against_module_) {
    memory_->poison(0);
    // Filling may have gone past the caches; eager's results lie in them.
    for (size_t i = 0; i < layout_.outputs.size(); ++i)
      bring_near(memory_->output(0, i));
  }
  if (auto ready = side.prepare(limit); !ready)
    return end(ready.error());
  auto nothing = side.empty(limit);
  if (!nothing)
    return end(nothing.error());
  for (size_t i = 0; i < layout_.inputs.size(); ++i)
    make_cold(memory_->input(0, i));
  auto time = side.call(limit);
  if (!time)
    return end(time.error());
  idle = *nothing;
  busy = *time;
  if (is_candidate)
    called_s_ += idle + busy;
  // At once: what is written later is not part of the call.
  return !is_candidate || !against_module_ || check_result();
}

bool session::check_result() {
  uint64_t mark = 0;
  for (size_t i = 0; i < layout_.outputs.size(); ++i) {
    auto view = memory_->output(0, i);
    mark = XXH3_64bits_withSeed(view.data(), view.size(), mark);
  }
  bool repeated = !given_.insert(mark).second;
  if (!repeated && seeds_.next() % compare_every != 0)
    return true;
  std::vector<bytes> got;
  for (size_t i = 0; i < layout_.outputs.size(); ++i) {
    auto view = memory_->output(0, i);
    got.emplace_back(view.begin(), view.end());
  }
  auto limit = eval_.run_timeout_s + load_timeout_s;
  // The reference may have had its turn on these inputs, or have it still.
  hand_over();
  for (auto step : {reference_->prepare(limit), reference_->call(limit),
                    reference_->store(limit)})
    if (!step)
      return end(step.error());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto& spec = what_.args.outputs[i];
    auto found = swage::compare(
      spec, got[i], results_->output(0, i),
      tolerance_of(spec.type, eval_));
    if (!found.expected_finite || found.pass())
      continue;
    if (repeated)
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
  out.kind = category::infra_worker;
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
