#include "runtime/task/prompt.hpp"

#include "runtime/task/compact_prompt.hpp"
#include "runtime/task/fill.hpp"
#include "runtime/task/program.hpp"
#include "runtime/task/prompt_templates.hpp"
#include "runtime/task/prototype.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace swage {

namespace {

/// Changes whenever the compact form does: it has no template file to hash.
constexpr std::string_view compact_version = "compact 1";

constexpr std::string_view separator = "->\n";

std::string describe(const tensor_spec& tensor, const std::string& name,
                     const char* role) {
  auto text = fmt::format("- {}: {}", name, role);
  if (!tensor.name.empty() && tensor.name != name)
    text += fmt::format(" `{}`", tensor.name);
  text += fmt::format(", {}, shape ({})", to_string(tensor.type),
                      fmt::join(tensor.shape, ", "));
  if (!tensor.contiguous())
    text += fmt::format(", strides ({}) in elements",
                        fmt::join(tensor.strides, ", "));
  return text + "\n";
}

std::string argument_list(const signature& args) {
  std::string text;
  for (size_t i = 0; i < args.inputs.size(); ++i)
    text += describe(args.inputs[i], input_name(i), "input");
  for (size_t i = 0; i < args.state.size(); ++i)
    text += describe(args.state[i], state_name(i), "parameter or buffer");
  for (size_t i = 0; i < args.outputs.size(); ++i)
    text += describe(args.outputs[i], output_name(i), "output");
  text += "- then the sizes of each input, and behind a strided input's sizes "
          "its strides";
  return text;
}

std::string full_prompt(const task& what) {
  substitutions with = {
    {"reference", what.reference},
    {"prototype", prototype(what.args)},
    {"arguments", argument_list(what.args)},
  };
  return fill(what.as == form::function ? function_prompt : module_prompt,
              with);
}

/// The first category that a feedback names, such as "runtime_error:crash".
std::string category_in(std::string_view feedback) {
  constexpr std::array kinds = {
    "compile_error:", "runtime_error:", "correctness_error:", "cheating:"};
  auto first = feedback.npos;
  for (std::string_view kind : kinds)
    first = std::min(first, feedback.find(kind));
  if (first == feedback.npos)
    return "failed";
  auto end = feedback.find_first_not_of("abcdefghijklmnopqrstuvwxyz_:", first);
  return std::string{
    feedback.substr(first, end == feedback.npos ? end : end - first)};
}

} // namespace

std::string render_prompt(const task& what, std::string_view style) {
  if (style == "full")
    return full_prompt(what);
  return compact_description(what).append(separator);
}

std::string render_repair_prompt(const task& what,
                                 std::string_view failed_response,
                                 std::string_view feedback,
                                 std::string_view style) {
  if (style == "full")
    return fill(repair_prompt, {{"prompt", full_prompt(what)},
                                {"response", std::string{failed_response}},
                                {"feedback", std::string{feedback}}});
  auto code = std::string{failed_response};
  while (code.ends_with('\n'))
    code.pop_back();
  return fmt::format("{}{}\n{}\n{}", compact_description(what),
                     category_in(feedback), code, separator);
}

std::string prompt_hash() {
  uint64_t h = 0xcbf29ce484222325;
  for (auto text :
       {function_prompt, module_prompt, repair_prompt, compact_version})
    for (unsigned char c : text)
      h = (h ^ c) * 0x100000001b3;
  return fmt::format("{:016x}", h);
}

} // namespace swage
