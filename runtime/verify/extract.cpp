#include "runtime/verify/extract.hpp"

#include "runtime/task/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
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

// A definition: its parameter list, perhaps "noexcept", an attribute or a
// trailing return type, then a body.
mention cpp_mention(tokens all) {
  auto best = mention::none;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    if (!is_identifier(all[i], "kernel") || !is(all[i + 1], "("))
      continue;
    bool member = i > 0
                  && (is(all[i - 1], ".") || is(all[i - 1], "->")
                      || is(all[i - 1], "::"));
    bool macro = i > 1 && is_identifier(all[i - 1], "define");
    if (member || macro)
      continue;
    // Nothing before the list's end can be another definition of it, so each
    // token is looked at twice at most.
    auto after = behind_brackets(all, i + 1);
    auto end = std::min(all.size(), after + 16);
    auto body = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(after),
                             all.begin() + static_cast<std::ptrdiff_t>(end),
                             [](const token& t) {
                               return is(t, "{") || is(t, ";") || is(t, ",")
                                      || is(t, "=") || is(t, "}");
                             });
    if (body != all.begin() + static_cast<std::ptrdiff_t>(end)
        && is(*body, "{"))
      return mention::defined;
    best = mention::declared;
    i = after - 1;
  }
  return best;
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
                     ? "the response is empty"
                     : "nothing stands outside of the reasoning");
  return no_code(fmt::format("{} defines '{}'",
                             !fenced              ? "nothing in the response"
                             : blocks.size() == 1 ? "the code block does not"
                                                  : "none of the code blocks",
                             entry_point(as)));
}

} // namespace swage
