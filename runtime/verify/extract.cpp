#include "runtime/verify/extract.hpp"

#include "runtime/config/knobs.hpp"
#include "runtime/task/tokens.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

namespace swage {

namespace {

using tokens = std::span<const token>;

bool is_identifier(const token& t, std::string_view name) {
  return t.kind == token_kind::identifier && t.text == name;
}

// Index behind the bracket that closes the one at `open`, or the end.
size_t behind_brackets(tokens all, size_t open) {
  size_t depth = 0;
  for (auto i = open; i < all.size(); ++i) {
    if (is(all[i], "("))
      ++depth;
    else if (is(all[i], ")") && --depth == 0)
      return i + 1;
  }
  return all.size();
}

enum class mention : uint8_t { none, declared, defined };

// Whether a name and a parameter list may begin a function there.
bool begins_function(tokens all, size_t i) {
  if (i + 1 >= all.size() || all[i].kind != token_kind::identifier
      || !is(all[i + 1], "("))
    return false;
  bool member = i > 0
                && (is(all[i - 1], ".") || is(all[i - 1], "->")
                    || is(all[i - 1], "::"));
  bool macro = i > 1 && is_identifier(all[i - 1], "define");
  return !member && !macro;
}

// Whether a body follows behind a parameter list, perhaps after "noexcept", an
// attribute or a trailing return type.
bool has_body(tokens all, size_t after) {
  auto rest = all.subspan(after, std::min<size_t>(all.size() - after, 16));
  auto body = std::ranges::find_if(rest, [](const token& t) {
    return is(t, "{") || is(t, ";") || is(t, ",") || is(t, "=") || is(t, "}");
  });
  return body != rest.end() && is(*body, "{");
}

mention cpp_mention(tokens all) {
  auto best = mention::none;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!begins_function(all, i) || !is_identifier(all[i], "kernel"))
      continue;
    // Nothing before the list's end can be another definition of it, so each
    // token is looked at twice at most.
    auto after = behind_brackets(all, i + 1);
    if (has_body(all, after))
      return mention::defined;
    best = mention::declared;
    i = after - 1;
  }
  return best;
}

// What a body follows and is no function.
constexpr std::array<std::string_view, 8> statements = {
  "if",        "for",      "while",    "switch",
  "constexpr", "requires", "noexcept", "catch"};

constexpr size_t most_names = 100;

// The functions that are defined, at most so many.
void add_functions(tokens all, std::vector<std::string_view>& names) {
  for (size_t i = 0; i < all.size() && names.size() < most_names; ++i) {
    if (!begins_function(all, i)
        || std::ranges::find(statements, all[i].text) != statements.end())
      continue;
    auto after = behind_brackets(all, i + 1);
    if (has_body(all, after))
      names.push_back(all[i].text);
    i = after - 1;
  }
}

mention python_mention(tokens all) {
  for (size_t i = 0; i + 2 < all.size(); ++i) {
    if (all[i].kind != token_kind::indent)
      continue;
    bool is_class = is_identifier(all[i + 1], "class")
                    && is_identifier(all[i + 2], "ModelNew");
    bool is_name = is_identifier(all[i + 1], "ModelNew") && is(all[i + 2], "=");
    if (is_class || is_name)
      return mention::defined;
  }
  return mention::none;
}

mention look_for_entry(std::string_view code, form as) {
  return as == form::function ? cpp_mention(cpp_tokens(code))
                              : python_mention(python_tokens(code));
}

/// A line that begins or ends a block: at least three of one character.
struct fence {
  char mark = 0;
  size_t length = 0;
  bool bare = false; ///< Nothing behind the marks: it can end a block.
};

std::optional<fence> parse_fence(std::string_view line) {
  auto start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos)
    return std::nullopt;
  line.remove_prefix(start);
  char mark = line[0];
  if (mark != '`' && mark != '~')
    return std::nullopt;
  auto end = std::min(line.find_first_not_of(mark), line.size());
  auto rest = line.substr(end);
  if (end < 3 || (mark == '`' && rest.find('`') != std::string_view::npos))
    return std::nullopt;
  return fence{mark, end, rest.find_first_not_of(" \t\r") == rest.npos};
}

// The fenced blocks, in order; one that is not closed goes to the end.
std::vector<std::string_view> fenced_blocks(std::string_view text) {
  std::vector<std::string_view> blocks;
  std::optional<fence> open;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    auto end = std::min(text.find('\n', at), text.size());
    auto next = std::min(end + 1, text.size());
    auto found = parse_fence(text.substr(at, end - at));
    if (found && !open) {
      open = found;
      start = next;
    } else if (found && found->bare && found->mark == open->mark
               && found->length >= open->length) {
      blocks.push_back(text.substr(start, at - start));
      open.reset();
    }
    at = next;
  }
  if (open)
    blocks.push_back(text.substr(start));
  return blocks;
}

// What was said after the reasoning; a reasoning that never ends says nothing.
std::string_view answer_of(std::string_view response) {
  constexpr std::string_view opening = "<think>", closing = "</think>";
  if (auto at = response.rfind(closing); at != std::string_view::npos)
    response.remove_prefix(at + closing.size());
  return response.substr(0, response.find(opening));
}

tl::unexpected<rejection> no_code(std::string detail) {
  return tl::unexpected(
    rejection{category::compile_no_code, std::move(detail)});
}

constexpr size_t most_told = 3;

// What the code defines in place of the entry point, for who mistyped it.
std::string instead(std::span<const std::string_view> blocks, form as) {
  std::vector<std::string_view> names;
  if (as == form::function)
    for (auto block : blocks)
      add_functions(cpp_tokens(block), names);
  if (names.empty())
    return "";
  if (auto near = nearest(entry_point(as), names); !near.empty())
    return fmt::format("; the nearest name that it defines is '{}'", near);
  names.resize(std::min(names.size(), most_told));
  return fmt::format("; it defines '{}'", fmt::join(names, "', '"));
}

} // namespace

const char* entry_point(form as) {
  return as == form::function ? "kernel" : "ModelNew";
}

bool defines_entry_point(std::string_view code, form as) {
  return look_for_entry(code, as) == mention::defined;
}

tl::expected<std::string, rejection> extract(std::string_view response,
                                             form as) {
  auto answer = answer_of(response);
  auto blocks = fenced_blocks(answer);
  bool fenced = !blocks.empty();
  if (!fenced)
    blocks.push_back(answer);
  bool declared = false;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    auto found = look_for_entry(*block, as);
    declared = declared || found == mention::declared;
    if (found != mention::defined)
      continue;
    if (block->size() > max_code_bytes)
      return no_code(fmt::format("expected at most {} bytes of code, found {}",
                                 max_code_bytes, block->size()));
    return std::string{*block};
  }
  if (declared)
    return no_code(
      fmt::format("'{}' is declared but has no body", entry_point(as)));
  if (answer.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return no_code(answer.size() == response.size()
                     ? "the text is empty"
                     : "nothing stands outside of the reasoning");
  return no_code(fmt::format("{} '{}'{}",
                             !fenced ? "nothing in the text defines"
                             : blocks.size() == 1
                               ? "the code block does not define"
                               : "none of the code blocks defines",
                             entry_point(as), instead(blocks, as)));
}

} // namespace swage
