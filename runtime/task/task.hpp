#pragma once

#include "runtime/inspect_enum.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// Where a candidate is compiled for and run on.
enum class target : uint8_t { cpu, cuda, cuda_host, musa };

constexpr uint8_t num_values(target) {
  return 4;
}

/// What a candidate is: one C function, or a Python module with `ModelNew`.
enum class form : uint8_t { function, module };

constexpr uint8_t num_values(form) {
  return 2;
}

enum class dtype : uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int64,
  int32,
  int16,
  int8,
  uint8,
  boolean,
};

constexpr uint8_t num_values(dtype) {
  return 10;
}

/// Size of one element in bytes.
size_t size_of(dtype type);

/// The PyTorch name, such as "float32" or "bool".
const char* to_string(dtype type);
bool from_string(const std::string& text, dtype& type);
const char* to_string(target value);
bool from_string(const std::string& text, target& value);
const char* to_string(form value);
bool from_string(const std::string& text, form& value);

/// How a task is judged. Sizes of tolerances: NaN (the default) means by dtype
/// (float32 1e-4, half types 1e-2, integers exact).
struct eval_spec {
  int32_t trials = 5;            ///< Random tests with fresh inputs.
  int32_t stress = 2;            ///< Tests with signed and scaled inputs.
  double rtol = -1;              ///< Negative: by dtype.
  double atol = -1;              ///< Negative: by dtype.
  double excessive_speedup = 10; ///< Above it: measured again, then refused.
  int32_t threads = 1;           ///< Of eager and of the candidate.
  double build_timeout_s = 30;
  double run_timeout_s = 10; ///< For all calls of one trial together.
  bool measure = true;       ///< Time it if it is correct and legal.
  int32_t timing_pairs = 15; ///< Interleaved (reference, candidate) pairs.
};

/// One argument of the function form.
struct tensor_spec {
  std::string name;
  dtype type = dtype::float32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< In elements; empty: contiguous.

  int64_t numel() const;
  bool contiguous() const;
};

/// What a candidate in function form is called with. Order of the arguments:
/// inputs, then state (`const T*`), then outputs (`T*`), then the `int64_t`
/// sizes of every input, dimension by dimension, a strided input's followed
/// by its strides.
struct signature {
  std::vector<tensor_spec> inputs;
  std::vector<tensor_spec>
    state; ///< Parameters and buffers, `state_dict` order.
  std::vector<tensor_spec>
    outputs; ///< Buffers that the reference changes come last.
};

/// One unit of teaching or judging: a KernelBench-style Python module.
struct task {
  std::string id;
  int32_t level = 1;
  std::string reference; ///< Python source: Model, get_inputs, get_init_inputs.
  target on = target::cpu;
  form as = form::function;
  eval_spec eval;
  std::vector<std::string> tags; ///< Operator names.
  std::string canonical;         ///< Canonical expression; empty if unknown.
  std::string program; ///< Serialised `program` of a generated task, or empty.
  signature args;      ///< Empty until the task was loaded.
};

template <class Inspector>
bool inspect(Inspector& f, eval_spec& x) {
  return f.object(x).fields(
    f.field("trials", x.trials), f.field("stress", x.stress),
    f.field("rtol", x.rtol), f.field("atol", x.atol),
    f.field("excessive_speedup", x.excessive_speedup),
    f.field("threads", x.threads),
    f.field("build_timeout_s", x.build_timeout_s),
    f.field("run_timeout_s", x.run_timeout_s), f.field("measure", x.measure),
    f.field("timing_pairs", x.timing_pairs));
}

template <class Inspector>
bool inspect(Inspector& f, tensor_spec& x) {
  return f.object(x).fields(f.field("name", x.name), f.field("type", x.type),
                            f.field("shape", x.shape),
                            f.field("strides", x.strides));
}

template <class Inspector>
bool inspect(Inspector& f, signature& x) {
  return f.object(x).fields(f.field("inputs", x.inputs),
                            f.field("state", x.state),
                            f.field("outputs", x.outputs));
}

template <class Inspector>
bool inspect(Inspector& f, task& x) {
  return f.object(x).fields(
    f.field("id", x.id), f.field("level", x.level),
    f.field("reference", x.reference), f.field("on", x.on), f.field("as", x.as),
    f.field("eval", x.eval), f.field("tags", x.tags),
    f.field("canonical", x.canonical), f.field("program", x.program),
    f.field("args", x.args));
}

} // namespace swage
