#pragma once

#include "runtime/error.hpp"
#include "runtime/inspect_enum.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// The outcome of a verification. Printed as its string everywhere.
enum class category : uint8_t {
  ok,
  compile_no_code,
  compile_bad_interface,
  compile_python_syntax,
  compile_compiler,
  compile_missing_header,
  compile_link,
  compile_timeout,
  compile_state_mismatch,
  runtime_launch,
  runtime_illegal_access,
  runtime_device_assert,
  runtime_crash,
  runtime_exception,
  runtime_oom,
  runtime_timeout,
  correctness_shape,
  correctness_dtype,
  correctness_layout,
  correctness_nonfinite,
  correctness_tolerance,
  correctness_nondeterministic,
  correctness_race,
  correctness_input_changed,
  cheating_disallowed_aten,
  cheating_disallowed_library,
  cheating_no_custom_kernel,
  cheating_replay,
  cheating_deferred_work,
  cheating_excessive_speedup,
  cheating_tampering,
  infra_worker,      ///< A helper process died or could not start; retried.
  infra_timeout,     ///< A trusted step outran its deadline; retried.
  infra_measurement, ///< Times were NaN, zero or negative; retried.
  infra_unsupported, ///< By name; never retried.
  task_invalid,
};

inline constexpr uint8_t num_categories = static_cast<uint8_t>(category::task_invalid) + 1;
constexpr uint8_t num_values(category) { return num_categories; }

/// Such as "correctness_error:tolerance".
const char* to_string(category value);
bool from_string(const std::string& text, category& value);

/// What a failure of our own makes of a verification.
category category_of(const error& reason);

/// Whether this outcome says nothing about the candidate: `infra:*` and
/// `task_invalid` are never charged to the policy.
bool is_uncharged(category value);

/// Whether the same candidate gets it again: neither an outcome that says
/// nothing about it, nor one that depends on the machine's load.
bool is_lasting(category value);

/// Whether trying again elsewhere may change the outcome.
bool is_transient(category value);

/// Times in seconds; NaN where not measured.
struct verdict_times {
  double build_s = 0;
  double run_s = 0;
  double measure_s = 0;
  double reference_s = 0;  ///< Median of one call of eager.
  double candidate_s = 0;  ///< Median of one call of the candidate.
  double speedup_low = 0;  ///< Interval of the median of paired ratios.
  double speedup_high = 0;
};

/// The published tuple (compiled, correct, legal, speedup, category, detail)
/// plus the share of tests that passed and the measured times (Eq. 1).
struct verdict {
  bool compiled = false;
  bool correct = false;
  bool legal = false;
  double speedup = -1; ///< Against eager; negative: not measured.
  category kind = category::infra_worker;
  std::string detail;       ///< For a person; built without secrets.
  double pass_fraction = 0; ///< q of Eq. 2: all tests, stress inputs included.
  verdict_times times;
  bool cached = false;

  bool ok() const { return kind == category::ok; }
};

template <class Inspector>
bool inspect(Inspector& f, verdict_times& x) {
  return f.object(x).fields(
    f.field("build_s", x.build_s), f.field("run_s", x.run_s),
    f.field("measure_s", x.measure_s), f.field("reference_s", x.reference_s),
    f.field("candidate_s", x.candidate_s),
    f.field("speedup_low", x.speedup_low),
    f.field("speedup_high", x.speedup_high));
}

template <class Inspector>
bool inspect(Inspector& f, verdict& x) {
  return f.object(x).fields(
    f.field("compiled", x.compiled), f.field("correct", x.correct),
    f.field("legal", x.legal), f.field("speedup", x.speedup),
    f.field("kind", x.kind), f.field("detail", x.detail),
    f.field("pass_fraction", x.pass_fraction), f.field("times", x.times),
    f.field("cached", x.cached));
}

} // namespace swage
