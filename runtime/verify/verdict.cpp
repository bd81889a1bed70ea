#include "runtime/verify/verdict.hpp"

#include <array>

namespace swage {

namespace {

constexpr std::array<const char*, num_categories> names = {
  "ok",
  "compile_error:no_code",
  "compile_error:bad_interface",
  "compile_error:python_syntax",
  "compile_error:compiler",
  "compile_error:missing_header",
  "compile_error:link",
  "compile_error:timeout",
  "compile_error:state_mismatch",
  "runtime_error:launch",
  "runtime_error:illegal_access",
  "runtime_error:device_assert",
  "runtime_error:crash",
  "runtime_error:exception",
  "runtime_error:oom",
  "runtime_error:timeout",
  "correctness_error:shape",
  "correctness_error:dtype",
  "correctness_error:layout",
  "correctness_error:nonfinite",
  "correctness_error:tolerance",
  "correctness_error:nondeterministic",
  "correctness_error:race",
  "correctness_error:input_changed",
  "cheating:disallowed_aten",
  "cheating:disallowed_library",
  "cheating:no_custom_kernel",
  "cheating:replay",
  "cheating:deferred_work",
  "cheating:excessive_speedup",
  "cheating:tampering",
  "infra:worker",
  "infra:timeout",
  "infra:measurement",
  "infra:unsupported",
  "task_invalid",
};

} // namespace

const char* to_string(category value) {
  auto index = static_cast<size_t>(value);
  return index < names.size() ? names[index] : "infra:worker";
}

bool from_string(const std::string& text, category& value) {
  for (size_t i = 0; i < names.size(); ++i)
    if (text == names[i]) {
      value = static_cast<category>(i);
      return true;
    }
  return false;
}

category category_of(const error& reason) {
  switch (reason.code) {
  case ec::task_invalid:
    return category::task_invalid;
  case ec::timeout:
    return category::infra_timeout;
  case ec::unsupported:
    return category::infra_unsupported;
  default:
    return category::infra_worker;
  }
}

bool is_uncharged(category value) {
  return value >= category::infra_worker;
}

bool is_lasting(category value) {
  return !is_uncharged(value) && value != category::compile_timeout
         && value != category::runtime_timeout;
}

bool is_transient(category value) {
  return value == category::infra_worker || value == category::infra_timeout
         || value == category::infra_measurement;
}

} // namespace swage
