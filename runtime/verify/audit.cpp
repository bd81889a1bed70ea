#include "runtime/verify/audit.hpp"

#include "runtime/verify/compare.hpp"
#include "runtime/verify/plan_cases.hpp"
#include "runtime/verify/shared_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace swage {

namespace {

enum class fate : uint8_t { alive, caught, stillborn };

/// A mutant, or an answer that needs no computing, which has no source.
struct subject {
  mutant code;
  fate came_to = fate::alive;

  bool is_answer() const { return code.source.empty(); }
};

class audit {
public:
  audit(const task& source, const judged_task& what, const audit_tools& tools)
    : source_{source}, what_{what}, tools_{tools} {
    signature results;
    results.outputs = what.args.outputs;
    layout_ = lay_out(results);
  }

  result<task_audit> run(size_t most);

private:
  result<void> prepare(size_t most);
  result<void> run_round(size_t first, size_t count);
  result<void> check_control(std::span<const judge_case> round);
  result<void> test(subject& one, std::span<const judge_case> round,
                    bool is_first);
  bool differs(std::span<const judge_case> round);
  task_audit conclude() const;

  const task& source_;
  const judged_task& what_;
  const audit_tools& tools_;
  case_layout layout_;
  std::optional<shared_memory> expected_, got_;
  std::vector<judge_case> cases_;
  std::vector<subject> all_;
};

result<task_audit> audit::run(size_t most) {
  if (auto status = prepare(most); !status)
    return tl::unexpected{status.error()};
  // One test alone first: most mutants are caught there.
  for (size_t first = 0, count = 1; first < cases_.size(); first += count) {
    count = first == 0 ? 1
                       : std::min<size_t>(expected_->cases(),
                                          cases_.size() - first);
    if (auto status = run_round(first, count); !status)
      return tl::unexpected{status.error()};
  }
  return conclude();
}

result<void> audit::prepare(size_t most) {
  auto made = tools_.judge.mutants(what_, most);
  if (!made)
    return tl::unexpected{made.error()};
  for (auto& one : *made)
    all_.push_back({std::move(one)});
  for (const auto& one : judge_client::answers())
    all_.push_back({{one, {}}});
  cases_ = plan_cases(what_, source_.eval, tools_.seeds);
  auto slots = cases_that_fit(layout_, cases_.size());
  for (auto* memory : {&expected_, &got_}) {
    auto created = shared_memory::create(layout_, slots);
    if (!created)
      return tl::unexpected{created.error()};
    memory->emplace(std::move(*created));
  }
  return {};
}

result<void> audit::run_round(size_t first, size_t count) {
  auto round = std::span{cases_}.subspan(first, count);
  for (size_t i = 0; i < round.size(); ++i)
    round[i].which = static_cast<uint32_t>(i);
  auto right = tools_.judge.compute(what_, round,
                                    {expected_->fd(), &layout_});
  if (!right)
    return right;
  if (auto status = check_control(round); !status)
    return status;
  for (auto& one : all_) {
    if (one.came_to != fate::alive)
      continue;
    if (auto status = test(one, round, first == 0); !status)
      return status;
    if (tools_.on_step)
      tools_.on_step();
  }
  return {};
}

/// The reference unaltered, loaded as mutants are, has to pass: else what they
/// differ by is not what was altered.
result<void> audit::check_control(std::span<const judge_case> round) {
  auto done = tools_.judge.compute_altered(what_, {{}, what_.reference}, round,
                                           {got_->fd(), &layout_});
  if (done && differs(round))
    return fail(ec::task_invalid,
                "loaded again, the reference gives something else for the same "
                "inputs and state; it may depend on earlier calls");
  return done;
}

result<void> audit::test(subject& one, std::span<const judge_case> round,
                         bool is_first) {
  judge_file into{got_->fd(), &layout_};
  auto done = one.is_answer()
                ? tools_.judge.compute_answer(what_, one.code.what, round, into)
                : tools_.judge.compute_altered(what_, one.code, round, into);
  if (done) {
    if (differs(round))
      one.came_to = fate::caught;
    return {};
  }
  // One that ran before fails where the reference does not.
  one.came_to = is_first ? fate::stillborn : fate::caught;
  if (done.error().code == ec::task_invalid)
    return {};
  // It has taken the judge with it, or it is not the mutant's fault.
  auto back = tools_.judge.torch_version();
  if (!back)
    return tl::unexpected{back.error()};
  return {};
}

bool audit::differs(std::span<const judge_case> round) {
  const auto& outputs = what_.args.outputs;
  for (const auto& one : round)
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto allowed = tolerance_in(one, outputs[i].type, source_.eval);
      if (!compare(outputs[i], got_->output(one.which, i),
                   expected_->output(one.which, i), allowed)
             .pass())
        return true;
    }
  return false;
}

task_audit audit::conclude() const {
  task_audit out;
  for (const auto& one : all_) {
    if (one.is_answer()) {
      if (one.came_to == fate::alive)
        out.answers.push_back(one.code.what);
      continue;
    }
    if (one.came_to == fate::alive)
      out.survivors.push_back(one.code.what);
    out.caught += one.came_to == fate::caught ? 1 : 0;
    out.stillborn += one.came_to == fate::stillborn ? 1 : 0;
  }
  return out;
}

} // namespace

double task_audit::share() const {
  if (counted() == 0)
    return 1;
  return static_cast<double>(caught) / static_cast<double>(counted());
}

result<task_audit> audit_task(const task& what, size_t most,
                              const audit_tools& tools) {
  auto loaded = tools.judge.load(what);
  if (!loaded)
    return tl::unexpected{loaded.error()};
  return audit{what, **loaded, tools}.run(most);
}

} // namespace swage
