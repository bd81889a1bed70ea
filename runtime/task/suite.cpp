#include "runtime/task/suite.hpp"

#include "runtime/task/draw.hpp"
#include "runtime/task/essence.hpp"
#include "runtime/task/json_lines.hpp"
#include "runtime/task/text_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>

namespace swage {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

auto bad_line(const fs::path& file, size_t line, const std::string& what) {
  return fail(ec::invalid_argument,
              fmt::format("{}:{}: {}", file.string(), line, what));
}

/// Whether the words stand there, and do not go on.
bool contains(const std::string& text, std::string_view words) {
  for (auto at = text.find(words); at != text.npos;
       at = text.find(words, at + 1)) {
    auto end = at + words.size();
    auto next = end < text.size() ? static_cast<unsigned char>(text[end]) : ' ';
    if (std::isalnum(next) == 0 && next != '_')
      return true;
  }
  return false;
}

constexpr std::string_view model = "class Model";

/// What a module lacks to be a task, or an empty text.
std::string missing_part(const std::string& reference) {
  for (auto part : {model, std::string_view{"def get_inputs"}})
    if (!contains(reference, part))
      return fmt::format("no '{}' in the module", part);
  return {};
}

result<task> finish(task what, const verifier_config& verifier) {
  if (!from_string(verifier.target, what.on)
      || !from_string(verifier.form, what.as))
    return fail(
      ec::invalid_config,
      fmt::format("[verifier] target '{}' and form '{}': expected cpu, "
                  "cuda, cuda-host or musa, and function or module",
                  verifier.target, verifier.form));
  drop_byte_order_mark(what.reference);
  what.eval = make_eval_spec(verifier);
  what.canonical = essence(what.reference);
  return what;
}

result<void> check_encoding(const fs::path& file, const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    auto size = utf8_character(text, i);
    if (size == 0)
      return bad_line(file, 1 + std::ranges::count(text.substr(0, i), '\n'),
                      fmt::format("expected UTF-8, found the byte {:#04x} at "
                                  "offset {}",
                                  static_cast<unsigned char>(text[i]), i));
    i += size;
  }
  return {};
}

/// The number in the nearest folder called levelN above a file, else 1.
int32_t level_of(const fs::path& file) {
  for (auto folder = file.parent_path(); folder.has_filename();
       folder = folder.parent_path()) {
    auto name = folder.filename().string();
    if (name.starts_with("level") && name.size() == 6
        && std::isdigit(static_cast<unsigned char>(name[5])))
      return name[5] - '0';
  }
  return 1;
}

result<int32_t> level_field(const json& row) {
  auto level = row.find("level");
  if (level == row.end())
    return 1;
  if (!level->is_number_integer() || level->get<int64_t>() < 1
      || level->get<int64_t>() > 9)
    return fail(ec::invalid_argument,
                fmt::format("field 'level': expected a number from 1 to 9, "
                            "found {}",
                            level->dump()));
  return level->get<int32_t>();
}

result<task> parse_row(const json& row, const verifier_config& verifier) {
  auto id = text_field(row, "id");
  auto reference = text_field(row, "reference");
  auto level = level_field(row);
  if (!id || !reference || !level)
    return tl::unexpected(!id          ? id.error()
                          : !reference ? reference.error()
                                       : level.error());
  auto what = make_task(*id, std::move(*reference), verifier);
  if (!what)
    return fail(ec::invalid_argument,
                "field 'reference': " + what.error().message);
  what->level = *level;
  return what;
}

result<std::vector<task>> load_lines(const fs::path& path,
                                     const verifier_config& verifier) {
  std::vector<task> tasks;
  distinct_ids seen;
  auto take = [&](size_t line, const json& row) -> result<void> {
    auto parsed = parse_row(row, verifier);
    if (!parsed)
      return tl::unexpected(parsed.error());
    if (auto fresh = seen.add(parsed->id, line); !fresh)
      return fresh;
    tasks.push_back(std::move(*parsed));
    return {};
  };
  auto read = read_json_lines(path,
                              {.what = "a folder of .py modules, or JSON lines",
                               .fields = "id and reference"},
                              take);
  if (!read)
    return tl::unexpected(read.error());
  return tasks;
}

result<std::string> read_module(const fs::path& file) {
  return read_text_file(file, "a Python module with Model and get_inputs");
}

result<task> task_of(const fs::path& file, std::string text,
                     const verifier_config& verifier) {
  if (auto ok = check_encoding(file, text); !ok)
    return tl::unexpected(ok.error());
  auto what = make_task(file.stem().string(), std::move(text), verifier);
  if (!what && what.error().code == ec::task_invalid)
    return fail(ec::task_invalid,
                fmt::format("{}:1: {}; expected a Python module with Model and "
                            "get_inputs",
                            file.string(), what.error().message));
  if (what)
    what->level = level_of(fs::absolute(file));
  return what;
}

/// The .py files below a folder, by path.
result<std::vector<fs::path>> modules_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem;
  auto here = folder;
  for (fs::recursive_directory_iterator it{folder, problem}, end;
       !problem && it != end; it.increment(problem)) {
    std::error_code ignored;
    here = it->path();
    if (here.extension() == ".py" && it->is_regular_file(ignored))
      files.push_back(here);
  }
  if (problem)
    return fail(ec::invalid_argument,
                fmt::format("{}: cannot be read: {}", here.string(),
                            problem.message()));
  std::ranges::sort(files);
  return files;
}

result<std::vector<task>> load_folder(const fs::path& path,
                                      const verifier_config& verifier,
                                      const suite_listener& told) {
  auto files = modules_in(path);
  if (!files)
    return tl::unexpected(files.error());
  std::vector<task> tasks;
  for (auto& file : *files) {
    auto text = read_module(file);
    if (!text)
      return tl::unexpected(text.error());
    if (!contains(*text, model)) {
      if (told)
        told(fmt::format("{} is left out: no '{}' in the module",
                         file.string(), model));
      continue;
    }
    auto loaded = task_of(file, std::move(*text), verifier);
    if (!loaded)
      return tl::unexpected(loaded.error());
    loaded->id = file.lexically_relative(path).replace_extension().string();
    tasks.push_back(std::move(*loaded));
  }
  return tasks;
}

} // namespace

result<task> load_task_file(const fs::path& file,
                            const verifier_config& verifier) {
  auto text = read_module(file);
  if (!text)
    return tl::unexpected(text.error());
  return task_of(file, std::move(*text), verifier);
}

result<task> make_task(std::string id, std::string reference,
                       const verifier_config& verifier) {
  if (auto missing = missing_part(reference); !missing.empty())
    return fail(ec::task_invalid, missing);
  task what;
  what.id = std::move(id);
  what.reference = std::move(reference);
  return finish(std::move(what), verifier);
}

result<std::vector<task>> load_suite(const fs::path& path,
                                     const verifier_config& verifier,
                                     const suite_listener& told) {
  if (!fs::exists(path))
    return fail(ec::not_found,
                fmt::format("{}: no such folder or file; expected a folder of "
                            ".py modules or a JSON-lines file",
                            path.string()));
  auto tasks = fs::is_directory(path) ? load_folder(path, verifier, told)
                                      : load_lines(path, verifier);
  if (tasks && tasks->empty())
    return fail(ec::invalid_argument,
                fmt::format("{}: holds no task; expected .py modules, or lines "
                            "with a JSON object each",
                            path.string()));
  return tasks;
}

result<task_sets> split_suite(std::vector<task> all,
                              const tasks_config& tasks) {
  draw random{tasks.seed};
  std::ranges::sort(all, {}, &task::id);
  for (size_t i = all.size(); i > 1; --i)
    std::swap(
      all[i - 1],
      all[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
  auto total = all.size();
  struct part {
    const char* name;
    std::vector<task>* tasks;
    size_t room;
    bool wanted;
  };
  task_sets sets;
  part parts[] = {
    {"held_out", &sets.held_out,
     std::min<size_t>(tasks.held_out, std::max<size_t>(total / 3, 1)),
     tasks.held_out > 0},
    {"validation", &sets.validation,
     std::min<size_t>(tasks.validation, std::max<size_t>(total / 5, 1)),
     tasks.validation > 0},
    {"train", &sets.train, tasks.train, tasks.train > 0},
  };
  // A module goes where the first of its kind went.
  std::map<std::string, part*> home;
  for (auto& what : all) {
    auto known = home.find(what.canonical);
    auto* to = known == home.end() ? nullptr : known->second;
    for (auto& candidate : parts)
      if (!to && candidate.tasks->size() < candidate.room)
        to = &candidate;
    if (!to)
      continue;
    home.emplace(what.canonical, to);
    if (to->tasks->size() < to->room)
      to->tasks->push_back(std::move(what));
  }
  for (auto& filled : parts)
    if (filled.wanted && filled.tasks->empty())
      return fail(
        ec::invalid_config,
        fmt::format("[tasks] suite: {} modules are too few for the sets "
                    "train, validation and held_out; '{}' stays empty",
                    total, filled.name));
  return sets;
}

} // namespace swage
