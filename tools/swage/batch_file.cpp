#include "tools/swage/batch_file.hpp"

#include "runtime/task/json_lines.hpp"
#include "runtime/task/suite.hpp"
#include "runtime/task/text_file.hpp"
#include "runtime/verify/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>

namespace swage {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t max_batch_bytes = size_t{4} << 30;

/// What each verdict's line begins with.
constexpr std::string_view verdict_begin = R"({"id":")";

class batch_reader {
public:
  batch_reader(const fs::path& file, const verifier_config& verifier)
    : folder_{file.parent_path()}, verifier_{verifier} {}

  result<void> take(size_t line, const json& row) {
    batch_row one;
    one.id = std::to_string(line);
    if (row.contains("id")) {
      auto id = text_field(row, "id");
      if (!id)
        return tl::unexpected{id.error()};
      one.id = std::move(*id);
    }
    if (auto fresh = ids_.add(one.id, line); !fresh)
      return fresh;
    auto text = text_field(row, "candidate");
    if (!text)
      return tl::unexpected{text.error()};
    one.candidate = std::move(*text);
    auto which = task_of(row);
    if (!which)
      return tl::unexpected{which.error()};
    one.task = *which;
    made.rows.push_back(std::move(one));
    return {};
  }

  batch made;

private:
  result<size_t> task_of(const json& row) {
    if (row.contains("task") == row.contains("reference"))
      return fail(ec::invalid_argument,
                  "expected one of the fields task and reference");
    bool is_file = row.contains("task");
    auto text = text_field(row, is_file ? "task" : "reference");
    if (!text)
      return tl::unexpected{text.error()};
    auto key = (is_file ? "task " : "reference ") + *text;
    if (auto known = known_.find(key); known != known_.end())
      return known->second;
    auto what = is_file ? load_task_file(folder_ / *text, verifier_)
                        : make_task(fmt::format("module {}", known_.size() + 1),
                                    std::move(*text), verifier_);
    if (!what)
      return fail(ec::invalid_argument,
                  is_file ? what.error().message
                          : "field 'reference': " + what.error().message);
    known_.emplace(std::move(key), made.tasks.size());
    made.tasks.push_back(std::move(*what));
    return made.tasks.size() - 1;
  }

  fs::path folder_;
  const verifier_config& verifier_;
  distinct_ids ids_;
  std::map<std::string, size_t> known_; ///< Tasks, by how they were named.
};

/// Cuts off a last line that lacks its end, if we began it.
result<void> drop_torn_line(const fs::path& file, std::string& text) {
  auto kept = text.rfind('\n') + 1; // 0 without any.
  auto torn = std::string_view{text}.substr(kept);
  auto compared = std::min(torn.size(), verdict_begin.size());
  if (torn.empty()
      || torn.substr(0, compared) != verdict_begin.substr(0, compared))
    return {};
  std::error_code problem;
  auto size = fs::file_size(file, problem);
  if (!problem)
    fs::resize_file(file, size - torn.size(), problem);
  if (problem)
    return fail(ec::io,
                fmt::format("{}: {}", file.string(), problem.message()));
  text.resize(kept);
  return {};
}

} // namespace

result<batch> read_batch(const fs::path& file,
                         const verifier_config& verifier) {
  batch_reader reader{file, verifier};
  auto read = read_json_lines(
    file,
    {.what = "a batch: JSON lines with task and candidate",
     .fields = "candidate, and task or reference",
     .max_bytes = max_batch_bytes},
    [&](size_t line, const json& row) { return reader.take(line, row); });
  if (!read)
    return tl::unexpected{read.error()};
  if (reader.made.rows.empty())
    return fail(ec::invalid_argument,
                fmt::format("{}: holds no candidate; expected lines with a "
                            "JSON object each",
                            file.string()));
  return std::move(reader.made);
}

result<std::set<std::string>> read_judged(const fs::path& verdicts) {
  std::set<std::string> ids;
  std::error_code unknown;
  if (!fs::exists(verdicts, unknown))
    return ids;
  const json_lines how{.what = "a file of verdicts",
                       .fields = "id and category",
                       .max_bytes = max_batch_bytes};
  auto text = read_text_file(verdicts, how.what, how.max_bytes);
  if (!text)
    return tl::unexpected{text.error()};
  if (auto whole = drop_torn_line(verdicts, *text); !whole)
    return tl::unexpected{whole.error()};
  auto read = parse_json_lines(
    std::move(*text), verdicts, how,
    [&](size_t, const json& row) -> result<void> {
      auto id = text_field(row, "id");
      auto told = text_field(row, "category");
      if (!id || !told)
        return tl::unexpected{id ? told.error() : id.error()};
      auto kind = category::ok;
      if (!from_string(*told, kind))
        return fail(ec::invalid_argument,
                    fmt::format("field 'category': '{}' is none", *told));
      if (is_transient(kind))
        ids.erase(*id);
      else
        ids.insert(std::move(*id));
      return {};
    });
  if (!read)
    return tl::unexpected{read.error()};
  return ids;
}

} // namespace swage
