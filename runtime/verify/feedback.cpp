#include "runtime/verify/feedback.hpp"

#include "runtime/task/text_file.hpp"
#include "runtime/verify/engine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <cmath>

namespace swage {

namespace {

constexpr size_t max_detail_bytes = 1200;

/// Faster than this counts as faster: the margin of the published Faster Rate.
constexpr double faster = 1.1;

std::string_view advice_when_correct(const verdict& outcome) {
  if (!(outcome.speedup > 0))
    return "The kernel is right. Keep it right; make it faster.";
  if (outcome.speedup > faster)
    return "The kernel is right and faster than the reference. Look for what "
           "is left: memory passes that can be fused, loops that do not "
           "vectorise.";
  return "The kernel is right, but not faster than the reference. Fuse passes "
         "over memory, keep data in registers, let the inner loop vectorise.";
}

std::string_view advice_when_wrong(category kind) {
  switch (kind) {
    case category::compile_no_code:
      return "Answer with one fenced code block that defines the function "
             "'kernel'.";
    case category::compile_bad_interface:
      return "Copy the prototype exactly: names may differ, types and order "
             "may not.";
    case category::compile_compiler:
    case category::compile_missing_header:
    case category::compile_link:
    case category::compile_python_syntax:
      return "Fix the first error, then look whether the others remain.";
    case category::compile_timeout:
      return "Compiling took too long: write less generated or templated code.";
    case category::runtime_illegal_access:
      return "An index leaves its tensor. Check loop bounds, strides and the "
             "order of the size arguments.";
    case category::runtime_timeout:
      return "It did not return. Check loop conditions and the amount of work.";
    case category::runtime_oom:
      return "It asked for too much memory. Work in the buffers that it is "
             "given.";
    case category::correctness_shape:
    case category::correctness_dtype:
    case category::correctness_layout:
      return "Write every element of each output, in its shape and type, row "
             "by row.";
    case category::correctness_nonfinite:
      return "Look for a division by zero, a root or logarithm of a negative "
             "number, or an overflow.";
    case category::correctness_tolerance:
      return "Compare the formula with the reference step by step: operators, "
             "their order, the axis and the constants.";
    case category::correctness_nondeterministic:
    case category::correctness_race:
      return "The same input gave different results: initialise accumulators "
             "and let no two threads write one element.";
    case category::correctness_input_changed:
      return "Inputs are read-only: write to the outputs alone.";
    case category::cheating_disallowed_aten:
    case category::cheating_disallowed_library:
    case category::cheating_no_custom_kernel:
    case category::cheating_replay:
    case category::cheating_deferred_work:
    case category::cheating_excessive_speedup:
    case category::cheating_tampering:
      return "Compute the result from the inputs, in the kernel itself, on "
             "every call, before it returns.";
    default: return "Make it run to its end without a fault.";
  }
}

/// A person's code may be the whole file, without a fence.
constexpr std::string_view advice_about_file
  = "Define the function 'kernel' with the task's prototype, in the file itself "
    "or in a fenced code block.";

std::string_view advice(const verdict& outcome) {
  return outcome.ok() ? advice_when_correct(outcome)
                      : advice_when_wrong(outcome.kind);
}

std::string_view status(const verdict& outcome) {
  if (outcome.ok())
    return "correct";
  if (is_uncharged(outcome.kind))
    return "not judged";
  return outcome.compiled ? "wrong" : "not compiled";
}

bool measured(const verdict& outcome) {
  return std::isfinite(outcome.speedup) && outcome.speedup > 0;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    auto size = utf8_character(text, i);
    auto lead = static_cast<unsigned char>(text[i]);
    if (size == 0 || (lead < 0x20 && lead != '\n' && lead != '\t')
        || lead == 0x7f)
      out += '?';
    else
      out += text.substr(i, size);
    i += size == 0 ? 1 : size;
  }
  return out;
}

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

} // namespace

std::string shortened(std::string_view text, size_t limit) {
  constexpr std::string_view mark = "\n[...]\n";
  auto clean = printable(text);
  if (clean.size() <= limit)
    return clean;
  auto room = limit > mark.size() ? limit - mark.size() : 0;
  auto head = room * 2 / 3;
  auto tail = clean.size() - (room - head);
  while (head > 0 && continues(clean[head]))
    --head;
  while (tail < clean.size() && continues(clean[tail]))
    ++tail;
  return clean.substr(0, head) + std::string{mark.substr(0, limit)}
         + clean.substr(tail);
}

std::string feedback_text(const verdict& outcome,
                          std::optional<uint32_t> round) {
  auto text = fmt::format("{} ({}).\n", status(outcome),
                          to_string(outcome.kind));
  if (round)
    text = fmt::format("Round {}: {}", *round, text);
  else
    text[0] = static_cast<char>(std::toupper(text[0]));
  if (!outcome.detail.empty())
    text += shortened(outcome.detail, max_detail_bytes) + "\n";
  if (outcome.pass_fraction > 0 && outcome.pass_fraction < 1)
    text += fmt::format("{:.0f} % of the tests passed.\n",
                        100 * outcome.pass_fraction);
  if (outcome.ok() && measured(outcome))
    text += fmt::format("Speed: {:.2f} times the reference's ({:.1f} us "
                        "against {:.1f} us).\n",
                        outcome.speedup, outcome.times.candidate_s * 1e6,
                        outcome.times.reference_s * 1e6);
  bool file = !round && outcome.kind == category::compile_no_code;
  text += file ? advice_about_file : advice(outcome);
  return shortened(text, max_feedback_bytes);
}

std::string feedback_json(const verdict& outcome, uint32_t round) {
  nlohmann::json json{
    {"round", round},
    {"status", status(outcome)},
    {"category", to_string(outcome.kind)},
    {"tests_passed", outcome.pass_fraction},
    {"speedup", nullptr},
    {"hint", advice(outcome)},
  };
  if (outcome.ok() && measured(outcome))
    json["speedup"] = outcome.speedup;
  // Escapes may double a text's length.
  auto room = max_detail_bytes;
  std::string text;
  do {
    json["detail"] = shortened(outcome.detail, room);
    text = json.dump();
    room /= 2;
  } while (text.size() > max_feedback_bytes && room > 0);
  return text;
}

} // namespace swage
