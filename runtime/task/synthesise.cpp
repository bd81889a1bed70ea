#include "runtime/task/synthesise.hpp"

#include "runtime/task/kernel_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace swage {

namespace {

// About 256 tokens of the quickstart policy: longer ones it cannot finish.
constexpr size_t max_source = 640;

void add(std::vector<solution>& found, std::string strategy,
         std::string source) {
  if (source.size() > max_source && !found.empty())
    return;
  bool known = std::ranges::any_of(
    found, [&](auto& other) { return other.source == source; });
  if (!known)
    found.push_back({std::move(strategy), std::move(source)});
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
  bool by_row = is_row_local(*read) && make_plan(*read, true).stages.size() > 1;
  bool chain = is_plain_chain(*read);
  for (kernel_form form : {kernel_form{.name = "fused", .fused = true},
                           kernel_form{.name = "direct"},
                           kernel_form{.name = "blocked", .fused = !chain,
                                       .blocked = true}}) {
    const std::string structure = form.name;
    auto write = [&](const char* how) {
      auto text = chain && form.blocked
                    ? kernel_writer{make_plan(*read, false), form}
                        .write_in_blocks()
                    : write_kernel(*read, form);
      add(found, structure + how, std::move(text));
    };
    write("");
    form.threads = true;
    form.by_row = form.fused && !form.blocked && by_row;
    write(" threaded");
    form.threads = form.by_row = false;
    form.simd = true;
    write(" vectorised");
  }
  return found;
}

} // namespace swage
