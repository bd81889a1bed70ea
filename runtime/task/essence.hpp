#pragma once

#include <string>
#include <string_view>

namespace swage {

/// What a Python module computes, as text: its classes and functions without
/// comments, docstrings, type annotations and calls of super().__init__(), with
/// every number and its sign as 0 and names of its own by the order in which they
/// come. Quotes of strings count as one kind.
/// The functions that draw inputs, and statements beside classes and functions,
/// are left out. Modules that differ in nothing else have the same essence.
/// Text without a class or function is its own essence.
std::string essence(std::string_view module);

} // namespace swage
