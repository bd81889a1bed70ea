#include "runtime/verify/diagnostics.hpp"

#include "runtime/verify/translation_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace swage {

namespace {

constexpr size_t max_detail = 1200;
constexpr size_t max_shown = 4;
constexpr size_t max_message = 400;

/// One line such as "kernel.cpp:3:7: error: expected ';' before '}' token".
struct diagnostic {
  std::string_view file;
  int line = 0;
  int column = 0;
  std::string_view message;
  bool fatal = false;

  bool own() const { return file == candidate_file; }
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Cuts a number and the colon behind it off the front.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(),
                                     value);
  if (code != std::errc{} || end == text.data() + text.size() || *end != ':')
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return value;
}

std::optional<diagnostic> parse(std::string_view line) {
  diagnostic found;
  auto colon = line.find(':');
  if (colon == std::string_view::npos)
    return std::nullopt;
  found.file = line.substr(0, colon);
  line.remove_prefix(colon + 1);
  found.line = take_number(line).value_or(0);
  found.column = take_number(line).value_or(0);
  constexpr std::string_view error = " error: ", fatal = " fatal error: ";
  if (line.starts_with(fatal))
    line.remove_prefix(fatal.size());
  else if (line.starts_with(error))
    line.remove_prefix(error.size());
  else
    return std::nullopt;
  found.fatal = line.data() - found.file.data() > 0
                && contains(
                  {found.file.data(),
                   static_cast<size_t>(line.data() - found.file.data())},
                  fatal);
  found.message = line;
  return found;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string describe(const diagnostic& one) {
  auto message = one.message.substr(0, max_message);
  if (one.own())
    return fmt::format("line {}, column {}: {}", one.line, one.column, message);
  return fmt::format("in a header: {}", message);
}

// The candidate's own lines first; then, if there are none, system headers.
std::string describe(const std::vector<diagnostic>& all) {
  std::string text;
  size_t shown = 0;
  for (bool own : {true, false}) {
    if (!own && shown > 0)
      break;
    for (const auto& one : all)
      if (one.own() == own && shown < max_shown) {
        text += (shown > 0 ? "\n" : "") + describe(one);
        ++shown;
      }
  }
  if (text.size() > max_detail)
    text.resize(max_detail);
  return text;
}

std::vector<diagnostic> diagnostics_of(std::string_view errors) {
  std::vector<diagnostic> all;
  for (auto line : lines_of(errors))
    if (auto one = parse(line))
      if (one->own() || one->file.starts_with("/usr/"))
        all.push_back(*one);
  return all;
}

bool is_about_interface(const diagnostic& one) {
  auto names_kernel = contains(one.message, "void kernel(")
                      || contains(one.message, " kernel(");
  return one.own() && names_kernel
         && (contains(one.message, "conflicting declaration of C function")
             || contains(one.message, "ambiguating new declaration")
             || contains(one.message,
                         "was declared 'extern' and later 'static'")
             || contains(one.message, "conflicts with"));
}

/// What stands in the place of the prototype: the declaration that the compiler
/// quotes, if it does nothing else, or its words.
std::string found_instead(const diagnostic& one) {
  auto words = one.message.substr(0, max_message);
  for (std::string_view lead : {"conflicting declaration of C function ",
                                "ambiguating new declaration of "})
    if (words.starts_with(lead))
      words.remove_prefix(lead.size());
  return fmt::format("line {}, column {}: {}", one.line, one.column, words);
}

// The linkers' ways to say that a symbol is missing, each with its name.
std::vector<std::string_view> undefined_symbols(std::string_view errors) {
  std::vector<std::string_view> names;
  for (auto line : lines_of(errors))
    for (std::string_view mark : {"undefined reference to `",
                                  "undefined "
                                  "reference to '",
                                  "undefined symbol: "}) {
      auto at = line.find(mark);
      if (at == std::string_view::npos)
        continue;
      auto name = line.substr(at + mark.size());
      name = name.substr(0, name.find_first_of("'`"));
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  return names;
}

rejection missing_symbols(const std::vector<std::string_view>& names,
                          std::string_view prototype) {
  if (std::find(names.begin(), names.end(), "kernel") != names.end())
    return {category::compile_bad_interface,
            fmt::format("expected a definition of {} found none with these "
                        "arguments outside of a namespace",
                        prototype)};
  std::string text = "undefined: ";
  for (size_t i = 0; i < std::min(names.size(), max_shown); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "",
                        names[i].substr(0, max_message));
  return {category::compile_link, text};
}

rejection without_lines(std::string_view errors) {
  if (contains(errors, "CPU time limit"))
    return {category::compile_timeout, "the compiler used up its CPU time"};
  if (contains(errors, "out of memory") || contains(errors, "memory exhausted")
      || contains(errors, "cannot allocate memory"))
    return {category::compile_compiler, "the compiler ran out of memory"};
  if (contains(errors, "internal compiler error")
      || contains(errors, "Segmentation fault"))
    return {category::compile_compiler, "the compiler itself failed"};
  if (contains(errors, "terminated program"))
    return {category::infra_worker, "the compiler was killed"};
  return {category::compile_compiler,
          "the compiler refused it, not on one of its own lines"};
}

} // namespace

rejection diagnose(const compile_outcome& seen, std::string_view prototype) {
  if (seen.timed_out)
    return {category::compile_timeout,
            fmt::format("compiling took longer than {:.3g} s", seen.wall_s)};
  if (seen.code == compile_could_not_run)
    return {category::infra_worker,
            fmt::format("the compiler could not be run: {}",
                        std::string_view{seen.errors}.substr(0, max_message))};
  auto all = diagnostics_of(seen.errors);
  for (const auto& one : all)
    if (one.fatal && contains(one.message, "No such file or directory"))
      return {category::compile_missing_header, describe(one)};
  for (const auto& one : all)
    if (is_about_interface(one))
      return {category::compile_bad_interface,
              fmt::format("expected {} found in {}", prototype,
                          found_instead(one))};
  if (!all.empty())
    return {category::compile_compiler, describe(all)};
  auto missing = undefined_symbols(seen.errors);
  return missing.empty() ? without_lines(seen.errors)
                         : missing_symbols(missing, prototype);
}

} // namespace swage
