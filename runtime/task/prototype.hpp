#pragma once

#include "runtime/task/task.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// The prototype that a candidate in function form must define, one line ending
/// in ';'. Arguments are named by role, whatever the task calls its tensors:
/// inputs x, x1, ..., state w, w1, ..., outputs y, y1, ...; then per input its
/// sizes (na, nb, ... and n1a, n1b, ...), and behind a strided input's sizes
/// its strides (sa, sb, ... and s1a, s1b, ...) in elements.
/// bool is uint8_t, half types are uint16_t.
std::string prototype(const signature& args);

/// The same declaration without the ';' and as short as C++ allows: `long` is
/// int64_t on the platforms that function form is built for.
std::string kernel_head(const signature& args);

/// Values of the trailing int64_t arguments, in the prototype's order.
std::vector<int64_t> size_arguments(const signature& args);

/// The C type of an element, such as "float" or "uint16_t".
const char* c_type(dtype type);

} // namespace swage
