#pragma once

#include "runtime/task/task.hpp"
#include "runtime/verify/rejection.hpp"

#include <tl/expected.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace swage {

/// Code longer than this is refused; the response around it may be longer.
inline constexpr size_t max_code_bytes = 128 * 1024;

/// The name that a candidate has to define: "kernel" or "ModelNew".
const char* entry_point(form as);

/// Whether `code` defines the entry point, by tokens: what stands in comments
/// and strings does not count, a declaration is no definition.
bool defines_entry_point(std::string_view code, form as);

/// The code in a response: behind the last `</think>`, the last fenced block
/// that defines the entry point; without any fence the whole text, if that
/// defines it. Fails with `compile_no_code` and what was found instead: where
/// functions have other names, the nearest one.
/// Takes time linear in the response, and any bytes.
tl::expected<std::string, rejection> extract(std::string_view response,
                                             form as);

} // namespace swage
