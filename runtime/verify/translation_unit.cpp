#include "runtime/verify/translation_unit.hpp"

#include "runtime/task/prototype.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace swage {

namespace {

std::string call(const signature& args) {
  std::vector<std::string> parts;
  size_t n = 0;
  auto add = [&](const std::vector<tensor_spec>& tensors, const char* prefix) {
    for (const auto& tensor : tensors)
      parts.push_back(fmt::format("static_cast<{}{}*>(tensors[{}])", prefix,
                                  c_type(tensor.type), n++));
  };
  add(args.inputs, "const ");
  add(args.state, "const ");
  add(args.outputs, "");
  for (size_t i = 0; i < size_arguments(args).size(); ++i)
    parts.push_back(fmt::format("sizes[{}]", i));
  return fmt::format("extern \"C\" void swage_call([[maybe_unused]] void** "
                     "tensors, [[maybe_unused]] const int64_t* sizes) {{\n"
                     "  kernel({});\n}}\n",
                     fmt::join(parts, ", "));
}

} // namespace

std::string translation_unit(std::string_view code, const signature& args) {
  return fmt::format("#line 1 \"prototype.hpp\"\n{}\n{}#line 1 \"{}\"\n{}\n",
                     prototype(args), call(args), candidate_file, code);
}

} // namespace swage
