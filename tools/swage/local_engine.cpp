#include "tools/swage/local_engine.hpp"

#include "runtime/task/generate.hpp"
#include "runtime/task/suite.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace swage {

result<task> read_task(const std::filesystem::path& file,
                       const verifier_config& settings) {
  auto what = load_task_file(file, settings);
  if (!what)
    return what;
  what->eval = make_eval_spec(settings);
  return what;
}

result<std::string> read_file(const std::filesystem::path& file,
                              std::string_view what) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed))
    return fail(ec::not_found, fmt::format("expected {} at {}, found no file",
                                           what, file.string()));
  std::ifstream in{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in && !in.eof())
    return fail(ec::io, fmt::format("cannot read {}", file.string()));
  return text;
}

} // namespace swage
