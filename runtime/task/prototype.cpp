#include "runtime/task/prototype.hpp"

#include "runtime/task/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace swage {

namespace {

struct spelling {
  const char* pointer; ///< Between an element type and a name.
  const char* size;    ///< Type of a size.
  const char* comma;
};

bool is_strided(const tensor_spec& input) {
  return !input.contiguous();
}

std::string declaration(const signature& args, const spelling& how) {
  std::vector<std::string> parts;
  auto add = [&](const auto& tensors, auto name, const char* prefix) {
    for (size_t i = 0; i < tensors.size(); ++i)
      parts.push_back(fmt::format("{}{}{}{}", prefix, c_type(tensors[i].type),
                                  how.pointer, name(i)));
  };
  add(args.inputs, input_name, "const ");
  add(args.state, state_name, "const ");
  add(args.outputs, output_name, "");
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    auto rank = args.inputs[i].shape.size();
    for (size_t d = 0; d < rank; ++d)
      parts.push_back(how.size + size_name(i, d));
    if (is_strided(args.inputs[i]))
      for (size_t d = 0; d < rank; ++d)
        parts.push_back(how.size + stride_name(i, d));
  }
  return fmt::format("extern \"C\" void kernel({})",
                     fmt::join(parts, how.comma));
}

} // namespace

std::string prototype(const signature& args) {
  return declaration(args, {"* ", "int64_t ", ", "}) + ";";
}

std::string kernel_head(const signature& args) {
  static_assert(sizeof(long) == sizeof(int64_t));
  return declaration(args, {"*", "long ", ","});
}

std::vector<int64_t> size_arguments(const signature& args) {
  std::vector<int64_t> values;
  for (auto& input : args.inputs) {
    values.insert(values.end(), input.shape.begin(), input.shape.end());
    if (is_strided(input))
      values.insert(values.end(), input.strides.begin(), input.strides.end());
  }
  return values;
}

const char* c_type(dtype type) {
  switch (type) {
  case dtype::float32:
    return "float";
  case dtype::float64:
    return "double";
  case dtype::float16:
  case dtype::bfloat16:
    return "uint16_t";
  case dtype::int64:
    return "int64_t";
  case dtype::int32:
    return "int32_t";
  case dtype::int16:
    return "int16_t";
  case dtype::int8:
    return "int8_t";
  default:
    return "uint8_t";
  }
}

} // namespace swage
