#include "runtime/task/synthesise.hpp"

#include "runtime/task/kernel_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

// About 256 tokens of the quickstart policy: longer ones it cannot finish.
constexpr size_t max_source = 640;

void add(std::vector<solution>& found, const char* strategy,
         std::string source) {
  if (source.size() > max_source && !found.empty())
    return;
  bool known = std::ranges::any_of(
    found, [&](auto& other) { return other.source == source; });
  if (!known)
    found.push_back({strategy, std::move(source)});
}

} // namespace

result<std::vector<solution>> synthesise(const task& what) {
  if (what.program.empty())
    return fail(ec::unsupported,
                fmt::format("task '{}' was not generated: solutions can be "
                            "synthesised for generated tasks only",
                            what.id));
  auto read = parse_program(what.program);
  if (!read)
    return tl::unexpected(read.error());
  std::vector<solution> found;
  auto write = [&](const kernel_form& form) {
    add(found, form.name, write_kernel(*read, form));
  };
  bool by_row = is_row_local(*read) && make_plan(*read, true).stages.size() > 1;
  write({.name = "fused", .fused = true});
  write({.name = "direct"});
  write({.name = "threaded", .fused = true, .threads = true, .by_row = by_row});
  write({.name = "vectorised", .fused = true, .simd = true});
  if (is_plain_chain(*read))
    add(found, "blocked",
        kernel_writer{make_plan(*read, false), {.name = "blocked"}}
          .write_in_blocks());
  else
    write({.name = "blocked", .fused = true, .blocked = true});
  return found;
}

} // namespace swage
