#include "runtime/task/task.hpp"

#include <array>
#include <string_view>

namespace swage {

namespace {

struct dtype_row {
  dtype type;
  size_t size;
  const char* name;
};

constexpr std::array dtypes = {
  dtype_row{dtype::float32, 4, "float32"},
  dtype_row{dtype::float64, 8, "float64"},
  dtype_row{dtype::float16, 2, "float16"},
  dtype_row{dtype::bfloat16, 2, "bfloat16"},
  dtype_row{dtype::int64, 8, "int64"},
  dtype_row{dtype::int32, 4, "int32"},
  dtype_row{dtype::int16, 2, "int16"},
  dtype_row{dtype::int8, 1, "int8"},
  dtype_row{dtype::uint8, 1, "uint8"},
  dtype_row{dtype::boolean, 1, "bool"},
};

constexpr std::array targets = {"cpu", "cuda", "cuda-host", "musa"};
constexpr std::array forms = {"function", "module"};

template <class Enum, size_t N>
bool find(const std::array<const char*, N>& names, std::string_view text,
          Enum& value) {
  for (size_t i = 0; i < N; ++i)
    if (text == names[i]) {
      value = static_cast<Enum>(i);
      return true;
    }
  return false;
}

} // namespace

size_t size_of(dtype type) {
  return dtypes[static_cast<size_t>(type)].size;
}

const char* to_string(dtype type) {
  return dtypes[static_cast<size_t>(type)].name;
}

bool from_string(const std::string& text, dtype& type) {
  for (auto& row : dtypes)
    if (text == row.name) {
      type = row.type;
      return true;
    }
  return false;
}

const char* to_string(target value) {
  return targets[static_cast<size_t>(value)];
}

bool from_string(const std::string& text, target& value) {
  return find(targets, text, value);
}

const char* to_string(form value) {
  return forms[static_cast<size_t>(value)];
}

bool from_string(const std::string& text, form& value) {
  return find(forms, text, value);
}

int64_t tensor_spec::numel() const {
  int64_t n = 1;
  for (auto size : shape)
    n *= size;
  return n;
}

bool tensor_spec::contiguous() const {
  if (strides.empty())
    return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

} // namespace swage
