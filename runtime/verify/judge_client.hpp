#pragma once

#include "runtime/error.hpp"
#include "runtime/task/task.hpp"
#include "runtime/verify/case_layout.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace swage {

/// What the inputs of a case are like: as the task draws them, or a stress.
enum class case_kind : uint8_t {
  plain,
  signed_, ///< Each element's sign drawn anew.
  large,   ///< Scaled up.
  small,   ///< Scaled down.
};

const char* to_string(case_kind kind);
bool from_string(const std::string& text, case_kind& kind);

/// A value that the task's author fixed: no argument of the function form.
struct constant_input {
  std::string name;
  std::string value; ///< As Python prints it.
};

/// A task as the judge holds it.
struct judged_task {
  std::string key;
  std::string reference; ///< Its source, to load it again.
  signature args;
  std::vector<constant_input> constants;
  std::vector<case_kind> stress; ///< Those that are fair for this task.
  double forward_s = 0;          ///< Wall time of one eager call.
  std::vector<int64_t> changed_inputs; ///< Outputs too, after the results.
  std::vector<int64_t> changed_state;  ///< Outputs too, after those.
  /// For each tensor of the state, the first that is the same memory: itself, or
  /// one that it is tied to; -1 where it may not change by itself, since no case
  /// draws it or it shares memory with a tensor of another form.
  std::vector<int64_t> free_state;
  /// Whether two inputs make an input, in parts or mixed by element.
  bool can_splice = false;
  uint64_t seed = 0; ///< That its parameters were drawn from.
};

/// Which data one call gets. The same values make the same data again.
struct judge_case {
  uint64_t seed = 0;
  case_kind kind = case_kind::plain;
  uint32_t which = 0; ///< Place in the shared file, in layouts.
  std::optional<uint64_t> state; ///< Seed of the state; none: `seed`.
  /// The later elements of each input come from this seed: a probe against
  /// results that are kept by pointer or by how an input begins.
  std::optional<uint64_t> change;
};

/// Where tensors lie in a file that the judge fills.
struct judge_file {
  int fd = -1;
  const case_layout* layout = nullptr;
};

struct draw_options {
  bool state = true; ///< State too, not only inputs.
  bool keep = false; ///< `compute` follows for these cases.
  bool more = false; ///< And for those that were kept before.
};

/// A reference with one operator dropped or changed.
struct mutant {
  std::string what; ///< Such as "line 14: dropped relu".
  std::string source;
};

/// The judge as the engine sees it: a trusted Python child that draws inputs
/// and computes what is right (judge.py). It is started at once, and again
/// when it died; tasks that it forgot are sent again. One thread at a time.
///
/// Errors: `ec::task_invalid` with the reason, `ec::timeout`, `ec::cancelled`,
/// `ec::infra`.
class judge_client {
public:
  /// @param library Folder of judge.py.
  static result<std::unique_ptr<judge_client>>
  start(std::filesystem::path python, std::filesystem::path library,
        uint64_t secret);

  ~judge_client();

  /// Loads a task, or returns it as it was loaded before.
  result<std::shared_ptr<const judged_task>>
  load(const task& what, const std::stop_token& stop = {});

  /// What the reference computes as a serialised `program`; empty where the
  /// operator table does not say it. The first call takes seconds.
  result<std::string> read_program(const judged_task& what);

  /// Draws inputs and, if asked, state of each case into the file.
  result<void> draw(const judged_task& what, std::span<const judge_case> cases,
                    const judge_file& into, const draw_options& how = {});

  /// Computes what each case should give, into the outputs of a file that no
  /// candidate sees.
  result<void> compute(const judged_task& what,
                       std::span<const judge_case> cases,
                       const judge_file& into);

  /// At most so many altered references, evenly out of all there are.
  result<std::vector<mutant>> mutants(const judged_task& what, size_t most);

  /// Computes what an altered reference gives for each case. `ec::task_invalid`
  /// also if its results have other shapes or types than the task's.
  result<void> compute_altered(const judged_task& what, const mutant& as,
                               std::span<const judge_case> cases,
                               const judge_file& into);

  /// Answers that need no computing: a word for each, such as "zeros".
  static const std::vector<std::string>& answers();

  /// What such an answer gives for each case. `ec::task_invalid` also if there
  /// is none in the form of the task's results.
  result<void> compute_answer(const judged_task& what, const std::string& answer,
                              std::span<const judge_case> cases,
                              const judge_file& into);

  /// Version of the judge's torch.
  result<std::string> torch_version(const std::stop_token& stop = {});

  /// CPU seconds of the judge so far, all its lives together.
  double cpu_s() const;

  /// Times that it had to be started again.
  uint64_t restarts() const;

private:
  struct impl;
  explicit judge_client(std::unique_ptr<impl> self);
  std::unique_ptr<impl> impl_;
};

} // namespace swage
