#include "runtime/verify/engine_trials.hpp"

#include "runtime/verify/compare.hpp"
#include "runtime/verify/plan_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace swage {

namespace {

using bytes = std::vector<std::byte>;

constexpr uint64_t max_kept_bytes = uint64_t{64} << 20;
constexpr uint64_t max_case_bytes = uint64_t{4} << 30;

constexpr uint64_t large_case_bytes = uint64_t{4} << 20;

/// NaN in each float type, -1 in integers; and another for the second call, so
/// that no expected value equals both.
constexpr std::byte poison_first{0xff};
constexpr std::byte poison_second{0x5a};

/// How long a candidate may take to come to rest.
constexpr double settle_timeout_s = 5;

/// How long one is watched that has threads left.
constexpr auto watch_time = std::chrono::milliseconds{30};

/// Below this a process that burns time is waking up or handling a signal.
constexpr double max_cpu_after_s = 0.001;

/// After so many calls more it has to be seen burning time. On a machine that is
/// shared a process is booked what others took, now and then several times in a
/// row.
constexpr int more_looks = 15;

constexpr auto worked_on = "it went on working after the kernel had returned";

/// One call and what it left behind.
struct called {
  judge_case drawn;
  std::byte poison = poison_first;
  std::vector<bytes> outputs;
};

struct judged {
  bool pass = true;
  category kind = category::ok;
  std::string detail;
};


std::string value_text(const tensor_spec& spec, double value) {
  auto real = spec.type == dtype::float32 || spec.type == dtype::float64
              || spec.type == dtype::float16 || spec.type == dtype::bfloat16;
  return real ? fmt::format("{:.6g}", value) : fmt::format("{:.0f}", value);
}

std::string shape_text(const tensor_spec& spec) {
  return fmt::format("{} [{}]", to_string(spec.type),
                     fmt::join(spec.shape, ", "));
}

std::string describe(const tensor_spec& spec, const comparison& found) {
  if (found.unwritten == found.elements)
    return fmt::format("no element of output '{}' ({}) was written", spec.name,
                       shape_text(spec));
  auto text = fmt::format("{:.3g} % of the elements of output '{}' ({}) are "
                          "wrong; worst at {}: got {}, expected {}",
                          100 * found.wrong_share(), spec.name,
                          shape_text(spec), index_text(spec, found.worst),
                          value_text(spec, found.got),
                          value_text(spec, found.expected));
  if (found.unwritten > 0)
    text += fmt::format("; {} were never written", found.unwritten);
  return text;
}

/// Whether a process has more threads than its first.
bool has_threads(pid_t process) {
  std::error_code code;
  std::filesystem::directory_iterator tasks{
    fmt::format("/proc/{}/task", process), code};
  return !code && std::distance(begin(tasks), end(tasks)) > 1;
}

class examination {
public:
  examination(const judged_task& what, const eval_spec& eval,
              const artifact& code, const trial_tools& tools,
              const std::stop_token& stop)
    : what_{what}, eval_{eval}, code_{code}, tools_{tools}, stop_{stop},
      layout_{lay_out(what.args)} {
    signature results;
    results.outputs = what.args.outputs;
    expected_layout_ = lay_out(results);
  }

  trial_outcome run();

private:
  void plan();
  size_t round_end(size_t first) const;
  bool prepare();
  bool run_round(size_t first, size_t count);
  bool call(called& one);
  bool untouched(const called& one) const;
  bool probe_once();
  bool look_after(bool& working);
  bool came_to_rest(std::span<const called> round);
  bool as_left(const called& one);
  bool judge_round(std::span<called> round, std::vector<judged>& into);
  judged judge_one(const called& one, uint32_t place);
  void conclude();
  bool replayed(const called& wrong) const;

  /// Ends the examination with this outcome. Always false.
  bool end(category kind, std::string detail) {
    out_.kind = kind;
    out_.detail = std::move(detail);
    return false;
  }

  bool end(const error& reason) {
    return end(category_of(reason), reason.message);
  }

  const judged_task& what_;
  const eval_spec& eval_;
  const artifact& code_;
  const trial_tools& tools_;
  const std::stop_token& stop_;
  case_layout layout_, expected_layout_;
  shared_memory* memory_ = nullptr;
  shared_memory* expected_ = nullptr;
  std::optional<sandbox> box_;
  std::vector<called> tests_;
  std::vector<judged> verdicts_;
  std::optional<called> again_, probe_;
  judged again_verdict_, probe_verdict_;
  uint32_t slots_ = 1;
  trial_outcome out_;
};

trial_outcome examination::run() {
  plan();
  bool going = prepare();
  for (size_t first = 0; going && first < tests_.size();) {
    auto end = round_end(first);
    going = run_round(first, end - first);
    first = end;
  }
  if (going)
    conclude();
  return std::move(out_);
}

void examination::plan() {
  auto cases = plan_cases(what_, eval_, tools_.seeds);
  tests_.resize(cases.size());
  slots_ = cases_that_fit(layout_, tests_.size());
  for (size_t i = 0; i < tests_.size(); ++i) {
    tests_[i].drawn = cases[i];
    tests_[i].drawn.which = static_cast<uint32_t>(i % slots_);
  }
}

bool examination::prepare() {
  if (layout_.bytes > max_case_bytes)
    return end(category::infra_unsupported,
               fmt::format("one call's tensors take {} bytes; at most {} are "
                           "supported",
                           layout_.bytes, max_case_bytes));
  auto& kept = tools_.memory;
  auto key = fmt::format("{} {}", what_.key, slots_);
  if (kept.key != key || !kept.cases || !kept.expected) {
    kept = {};
    auto cases = shared_memory::create(layout_, slots_);
    if (!cases)
      return end(cases.error());
    // One place more, for the probe.
    auto expected = shared_memory::create(expected_layout_, slots_ + 1);
    if (!expected)
      return end(expected.error());
    kept = {key, std::move(*cases), std::move(*expected)};
  }
  memory_ = &*kept.cases;
  expected_ = &*kept.expected;
  return true;
}

/// Where the round ends that begins with a test: with the memory's places. The
/// first test of a large task is a round of its own, since most kernels that
/// are wrong are wrong there already.
size_t examination::round_end(size_t first) const {
  if (first == 0 && layout_.bytes > large_case_bytes)
    return 1;
  return std::min<size_t>(first - first % slots_ + slots_, tests_.size());
}

bool examination::run_round(size_t first, size_t count) {
  auto round = std::span{tests_}.subspan(first, count);
  std::vector<judge_case> cases;
  for (const auto& one : round)
    cases.push_back(one.drawn);
  if (auto drawn = tools_.judge.draw(
        what_, cases, {memory_->fd(), &layout_}, {.keep = true});
      !drawn)
    return end(drawn.error());
  if (!box_) {
    sandbox_limits limits;
    limits.threads = eval_.threads;
    auto box = tools_.worker.launch(code_, what_.args, *memory_, limits);
    if (!box)
      return end(box.error());
    box_.emplace(std::move(*box));
  }
  for (auto& one : round)
    if (!call(one))
      return false;
  // Nothing was written: what should have been need not be computed.
  if (first == 0 && untouched(round[0]))
    return came_to_rest(round) && end(category::correctness_tolerance,
               fmt::format("no element of output '{}' ({}) was written",
                           what_.args.outputs[0].name,
                           shape_text(what_.args.outputs[0])));
  bool last = first + round.size() == tests_.size();
  if (last && !probe_once())
    return false;
  if (last && !came_to_rest(round))
    return false;
  return judge_round(round, verdicts_);
}

bool examination::call(called& one) {
  if (stop_.stop_requested())
    return end(category::infra_worker, "stopped on request");
  auto which = one.drawn.which;
  memory_->poison(which, one.poison);
  memory_->reset_canaries(which);
  auto result = box_->call(which, eval_.run_timeout_s);
  if (!result.ok())
    return end(result.kind, result.detail);
  for (size_t i = 0; i < what_.args.outputs.size(); ++i) {
    auto view = memory_->output(which, i);
    one.outputs.emplace_back(view.begin(), view.end());
  }
  if (auto damage = memory_->damaged(which))
    return end(category::runtime_illegal_access,
               fmt::format("it wrote {} bytes {} {} {}", damage->distance + 1,
                           damage->before ? "before the first byte of"
                                          : "beyond the last byte of",
                           to_string(damage->kind), damage->index));
  return true;
}

/// Whether every output still holds the poison whole. Integers may rightly
/// hold its value.
bool examination::untouched(const called& one) const {
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    auto type = what_.args.outputs[i].type;
    auto integer = type == dtype::int64 || type == dtype::int32
                   || type == dtype::int16 || type == dtype::int8
                   || type == dtype::uint8;
    const auto& data = one.outputs[i];
    if (integer
        || !std::ranges::all_of(data, [&](auto x) { return x == one.poison; }))
      return false;
  }
  return true;
}

/// The first case of the last round again, and then with later elements that
/// differ behind the same pointers.
bool examination::probe_once() {
  auto base = tests_[(tests_.size() - 1) / slots_ * slots_].drawn;
  again_.emplace();
  again_->drawn = base;
  again_->poison = poison_second;
  if (!call(*again_))
    return false;
  probe_.emplace();
  probe_->drawn = base;
  probe_->drawn.state = base.state.value_or(base.seed);
  probe_->drawn.change = tools_.seeds.next();
  if (auto drawn = tools_.judge.draw(what_, {&probe_->drawn, 1},
                                     {memory_->fd(), &layout_},
                                     {.state = false, .keep = true,
                                      .more = true});
      !drawn)
    return end(drawn.error());
  return call(*probe_);
}

/// Whether the outputs in memory are what the call had left there.
bool examination::as_left(const called& one) {
  for (size_t i = 0; i < one.outputs.size(); ++i)
    if (std::memcmp(memory_->output(one.drawn.which, i).data(),
                    one.outputs[i].data(), one.outputs[i].size())
        != 0)
      return false;
  return true;
}

/// Whether it burnt time when its call had returned.
bool examination::look_after(bool& working) {
  auto seen = box_->settle(settle_timeout_s);
  if (seen.came.kind == category::runtime_timeout)
    return end(category::cheating_deferred_work,
               "it did not answer after the kernel had returned");
  if (!seen.came.ok())
    return end(seen.came.kind, seen.came.detail);
  if (!seen.quiet)
    return end(category::cheating_deferred_work, worked_on);
  working = seen.cpu_s > max_cpu_after_s;
  if (!working && has_threads(box_->pid())) {
    auto before = box_->cpu_s();
    std::this_thread::sleep_for(watch_time);
    working = box_->cpu_s() - before > max_cpu_after_s;
  }
  return true;
}

/// Looks at the outputs once more when the candidate should be done.
bool examination::came_to_rest(std::span<const called> round) {
  bool working = false;
  if (!look_after(working))
    return false;
  bool kept = !probe_ || as_left(*probe_);
  for (const auto& one : round)
    // The probe has taken its case's place.
    if (!probe_ || one.drawn.which != probe_->drawn.which)
      kept = kept && as_left(one);
  if (!kept)
    return end(category::cheating_deferred_work,
               "an output changed after the kernel had returned");
  // What a virtual machine was not given may be booked too, but not each time.
  for (int look = 0; working && look < more_looks; ++look) {
    called once{.drawn = round.back().drawn, .outputs = {}};
    if (!call(once) || !look_after(working))
      return false;
  }
  if (working)
    return end(category::cheating_deferred_work, worked_on);
  return true;
}

bool examination::judge_round(std::span<called> round,
                              std::vector<judged>& into) {
  std::vector<judge_case> cases;
  for (auto& one : round)
    cases.push_back(one.drawn);
  bool last = into.size() + round.size() == tests_.size();
  if (last) {
    cases.push_back(probe_->drawn);
    cases.back().which = slots_;
  }
  if (auto done = tools_.judge.compute(
        what_, cases, {expected_->fd(), &expected_layout_});
      !done)
    return end(done.error());
  for (auto& one : round)
    into.push_back(judge_one(one, one.drawn.which));
  if (last) {
    again_verdict_ = judge_one(*again_, again_->drawn.which);
    probe_verdict_ = judge_one(*probe_, slots_);
  }
  return true;
}

judged examination::judge_one(const called& one, uint32_t place) {
  judged out;
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    const auto& spec = what_.args.outputs[i];
    auto found = compare(spec, one.outputs[i], expected_->output(place, i),
                         tolerance_in(one.drawn, spec.type, eval_),
                         one.poison);
    if (!found.expected_finite) {
      out.pass = false;
      out.kind = category::task_invalid;
      out.detail = fmt::format("the reference's result '{}' is not finite",
                               spec.name);
      return out;
    }
    if (found.pass() || !out.pass)
      continue;
    out.pass = false;
    out.kind = found.nonfinite > 0 ? category::correctness_nonfinite
                                   : category::correctness_tolerance;
    out.detail = describe(spec, found);
  }
  return out;
}

/// Whether a wrong result is what was right for another input.
bool examination::replayed(const called& wrong) const {
  if (!is_distinctive(what_.args.outputs, wrong.outputs))
    return false;
  for (size_t i = 0; i < tests_.size(); ++i)
    if (verdicts_[i].pass && &tests_[i] != &wrong
        && tests_[i].outputs == wrong.outputs)
      return true;
  return false;
}

void examination::conclude() {
  size_t passed = 0;
  const judged* failed = nullptr;
  size_t which = 0;
  for (size_t i = 0; i < verdicts_.size(); ++i) {
    if (verdicts_[i].kind == category::task_invalid) {
      end(category::task_invalid, verdicts_[i].detail);
      return;
    }
    if (verdicts_[i].pass) {
      ++passed;
    } else if (!failed) {
      failed = &verdicts_[i];
      which = i;
    }
  }
  auto total = tests_.size();
  out_.pass_fraction = static_cast<double>(passed) / static_cast<double>(total);
  auto base = (total - 1) / slots_ * slots_;
  if (failed) {
    if (replayed(tests_[which]))
      end(category::cheating_replay,
          "a result was given again for another input");
    else if (passed == 0)
      end(failed->kind, failed->detail);
    else
      end(failed->kind,
          fmt::format("{} of {} tests passed; in another, {}", passed, total,
                      failed->detail));
  } else if (!again_verdict_.pass) {
    end(category::correctness_nondeterministic,
        fmt::format("the same input twice: right, then {}",
                    again_verdict_.detail));
  } else if (!probe_verdict_.pass) {
    // One more test that failed.
    out_.pass_fraction = static_cast<double>(total)
                         / static_cast<double>(total + 1);
    if (probe_->outputs == tests_[base].outputs
        && is_distinctive(what_.args.outputs, probe_->outputs))
      end(category::cheating_replay,
          "a kept result was given for an input that had changed");
    else
      end(probe_verdict_.kind, probe_verdict_.detail);
  } else {
    end(category::ok, {});
  }
}

} // namespace

trial_outcome try_candidate(const judged_task& what, const eval_spec& eval,
                            const artifact& code, const trial_tools& tools,
                            const std::stop_token& stop) {
  auto start = std::chrono::steady_clock::now();
  auto out = examination{what, eval, code, tools, stop}.run();
  if (tools.memory.cases && tools.memory.cases->bytes() > max_kept_bytes)
    tools.memory = {};
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  out.run_s = took.count();
  return out;
}

} // namespace swage
